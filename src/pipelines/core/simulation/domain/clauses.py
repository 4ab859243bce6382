"""What the main verbs of a description say a tool does: "Returns …" reads, "Cancels …" changes something."""

import re
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple, TypeAlias

from pipelines.core.english.inflection import TENSES
from pipelines.core.english.verbs import ADJECTIVES, DOING, LEADING_NOUNS, TELLING, VAGUE, VALUES, VERB_PAIRS
from pipelines.core.english.words import ARTICLES, is_plural, word_set
from pipelines.core.simulation.domain.verbs import OP_OF_VERB, READS

ClaimKind: TypeAlias = Literal[
    "reads",  # "Returns …", "Whether …", "How many …"
    "writes",  # "Cancels …", "Move a booking …"
    "turns_out",  # what becomes of something is told in the passive: "the order becomes cancelled"
    "names",  # a noun phrase: "Accounts of a customer."
    "acts",  # by a verb that is not known: "Frobnicates the widget."
    "vague",  # "Processes the batch.", "Handles the request."
    "nothing",  # there is no description
]


class Claim(NamedTuple):
    """What a text says of a tool, and the verb in its base form that says so."""

    kind: ClaimKind
    verb: str | None = None


NOTHING_SAID = Claim("nothing")

_LONGEST = 2_000  # characters; what a tool does is said at the beginning

# "Returns:" and the like begin a list of parts, not a sentence about what the tool does.
_SECTIONS = re.compile(
    r"(?:^|\n)[ \t]*(?:args?|arguments?|param(?:eter)?s?|returns?|raises|yields|examples?|notes?)\s*:",
    re.IGNORECASE,
)
_BLANKS = re.compile(r"[^\S\n]+")
_PREAMBLE = re.compile(r"\bdescription:\s*", re.IGNORECASE)
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_PARTS = re.compile(r"\s*[;:—–]\s+")  # each says something of its own
_VERBS = re.compile(r",?\s+(?:and|then|and then)\s+|,\s+(?=\w+s\s)")  # verbs of one subject, alike in form
_WORDS = re.compile(r"[A-Za-z][A-Za-z'’-]*")

QUESTIONS = word_set("whether if how what which who whose whom when where why is are does do has have can")
_OPENING = re.compile(
    r"^(?:(?:please|simply|just|immediately|permanently|temporarily|automatically|also|atomically|safely) )?"
    r"(?:(?:this|the) (?:tool|function|method|endpoint|action|api|call) |it |(?:helper|function|tool) )?"
    r"(?:will |(?:is |can be )?used (?:to|for) |use this to |(?:that|which|to) )?"
    r"(?:(?:lets?|allows?|enables?|helps?) (?:you|users|agents|customers|callers|the \w+|an? \w+) (?:to )?)?",
    re.IGNORECASE,
)
_DETERMINERS = word_set(
    "a an the this that these those one two all any each every its their his her your our my some several "
    "another other existing new given specific whole up out both what how whether if which who when where"
)
_ARTICLES = word_set("a an the this its their it them whoever")
_AFTER_NOUNS = word_set(
    "by for from of in on with at as within between per and or that which who whose not is are was were to "
    "currently still already left due flagged assigned after before during"
)
_SUBJECTS = ARTICLES | {"another", "somebody", "someone"}
_TELLS = word_set("did has have had was were will cannot")
_VAGUE = VAGUE | word_set(
    "work deal go recalculate recompute optimize optimise normalize normalise clean fix adjudicate"
)
_PASSIVE = re.compile(
    # "Rooms that are booked": which they are, not what becomes of them.
    r"(?<!that )(?<!which )(?<!who )"
    r"\b(?:becomes?|turns? into|goes (?:back )?to|(?:is|are|gets?|will(?: not)? be) (?:then )?"
    r"(?:set|marked|flagged|added|removed|deleted|moved|changed|updated|put|taken|sent|stored|saved|recorded|"
    r"credited|debited|charged|deducted|increased|reduced|decreased|cancell?ed|closed|created|stocked|"
    r"transferred|reopened|released|assigned|booked|refunded))\b",
    re.IGNORECASE,
)
# Of no deed in particular: "Cancels the order. Nothing is refunded." does cancel it.
_CHANGES_NOTHING = re.compile(
    r"\bnothing (?:is|gets|will be|has been) (?:\w+ly )?"
    r"(?:stored|saved|kept|changed|written|recorded|modified|updated|persisted|committed)\b|"
    r"\bnothing changes\b|\bchanges nothing\b|\bread[- ]only\b|\bdry[- ]run\b|"
    r"\bwithout (?:actually |really )?(?:changing|saving|storing|persisting) (?:anything|it|them)\b|"
    r"\b(?:does|do|will) not (?:actually )?(?:change|save|store|persist) (?:anything|it|them)\b",
    re.IGNORECASE,
)


def claim_of(description: str | None, verb: str | None = None, object_words: Collection[str] = ()) -> Claim:
    """The strongest thing that the description's sentences say; the first sentence counts most.

    `verb` and `object_words` are the name's own: what both name and description say is no noun here.
    """
    own = _Own(verb, frozenset(object_words))
    text = _BLANKS.sub(" ", (description or "")[:_LONGEST])
    text = _SECTIONS.split(text, maxsplit=1)[0] if not _SECTIONS.match(text) else ""
    text = _PREAMBLE.split(text)[-1]
    sentences = [found for one in _SENTENCES.split(text) if (found := _sentence_claims(one, own))]
    if not sentences:
        return NOTHING_SAID
    first = _strongest(sentences[0])
    if _SENTENCES.split(text.strip())[0].endswith("?"):
        return Claim("reads", "whether")
    if first.kind in ("reads", "writes"):
        return first
    later = [_strongest(claims) for claims in sentences[1:]]
    writing = next((claim for claim in later if claim.kind == "writes"), None)
    if writing is not None and not says_nothing_changes(text):
        return writing
    if _PASSIVE.search(text) and not says_nothing_changes(text):
        return Claim("turns_out")
    return first


def says_nothing_changes(description: str | None) -> bool:
    return _CHANGES_NOTHING.search((description or "")[:_LONGEST]) is not None


def _strongest(claims: list[Claim]) -> Claim:
    order: tuple[ClaimKind, ...] = ("writes", "reads", "acts", "turns_out", "vague", "names")
    return min(claims, key=lambda claim: order.index(claim.kind))


class _Own(NamedTuple):
    verb: str | None
    objects: frozenset[str]


def _sentence_claims(sentence: str, own: _Own) -> list[Claim]:
    parts = _PARTS.split(re.sub(r"\([^)]*\)", " ", sentence))
    return [claim for part in parts for claim in _part_claims(part, own)]


def _part_claims(part: str, own: _Own) -> list[Claim]:
    found: list[Claim] = []
    style: str | None = None  # how the first verb is inflected
    for clause in _VERBS.split(part):
        plain = clause.strip().replace("’", "'")
        words = _WORDS.findall(_OPENING.sub("", plain).lower())
        if (
            words
            and plain.lower().startswith("let")
            and not any(_is_verb(one) for one, _ in _bases(words[0]))
        ):
            words = _WORDS.findall(plain.lower())  # "Lets a vacant plot to a tenant"
        if not words:
            continue
        claim, inflection = _clause_claim(words, own)
        # "Loans and holds of a member": what follows a noun is another one.
        if found and (claim.kind == "names" or inflection != style or len(words) < 2):
            continue
        style = style or inflection
        found.append(claim)
    return found


def _clause_claim(words: list[str], own: _Own) -> tuple[Claim, str]:
    """What the clause says, by its first word and what follows it; and how that word is inflected."""
    first, following = words[0], words[1] if len(words) > 1 else None
    if first in QUESTIONS:
        return Claim("reads", first), "question"
    if _is_tale(words):  # a tale of what happens, not yet a word on what the tool does
        return Claim("turns_out"), "tale"
    # "Shifts that have no volunteer yet" of open_shifts: what the name is about, no verb.
    is_own_noun = is_plural(first) and first in own.objects and following not in _DETERMINERS - {"that"}
    if is_own_noun or _has_contact_clause(words):
        return Claim("names"), "noun"
    for base, inflection in _bases(first):
        pair = VERB_PAIRS.get((base, following or "")) or _split_pair(base, words)
        if pair is not None and pair in OP_OF_VERB:
            return _of_pair(base, pair), inflection
        if base in ADJECTIVES and _is_noun_here(base, inflection, following):
            continue  # "Free capacity in a silo"
        if base == own.verb and (found := _own_verb(base, words, own)) is not None:
            known = next((one for one, _ in _bases(first) if _is_verb(one)), None)
            if found.kind == "acts" and known is not None:
                return _of_verb(known), inflection  # "Booking a table"
            return found, inflection
        if base in _VAGUE and inflection == "s" and following not in _DETERMINERS:
            continue  # "Batches ready before a date"
        tells_that = following == "that" and len(words) > 2 and words[2] in _ARTICLES
        if _is_verb(base) and (tells_that or not _is_noun_here(base, inflection, following)):
            return _of_verb(base), inflection
    if following in _ARTICLES and first not in _AFTER_NOUNS:  # no noun has an article right behind it
        return Claim("acts", [base for base, _ in _bases(first)][-1 if first.endswith("es") else 0]), "s"
    return Claim("names"), "noun"


def _has_contact_clause(words: list[str]) -> bool:
    """ "Tools a borrower has at home", "lessons a pupil is booked on": which ones, without "that"."""
    at = next((at for at, word in enumerate(words[:4]) if is_plural(word)), None)
    if at is None or len(words) < at + 3 or words[at + 1] not in _ARTICLES | {"somebody", "someone"}:
        return False
    if any(_is_verb(base) for base, _ in _bases(words[at])):  # "Books a room for a guest who has paid"
        return words[at + 3 : at + 4] != [] and words[at + 3] in _CLAUSE_VERBS
    after = words[at + 2 : at + 5]
    end = next((i for i, word in enumerate(after) if word in ("that", "which", "who")), len(after))
    return any(word in _CLAUSE_VERBS for word in after[:end])


_CLAUSE_VERBS = word_set("has have is are was were can may had goes takes plays")


def _is_tale(words: list[str]) -> bool:
    """ "The patient did not turn up", "An approved request has left": what is so now."""
    rest = words[1:] if words[0] in _SUBJECTS else words
    if len(rest) > 2 and (rest[1] in _TELLS or rest[1:3] == ["no", "longer"]):
        return True
    # No noun has a past tense behind it; "a tool a borrower has" begins another clause before that.
    tells = next(
        (at for at in range(1, min(4, len(rest) - 1)) if rest[at] in _TELLS or rest[at] in TENSES), None
    )
    before = {*rest[:tells]} if tells is not None else set()
    return rest is not words and tells is not None and not before & (_DETERMINERS | _AFTER_NOUNS)


def _own_verb(base: str, words: list[str], own: _Own) -> Claim | None:
    """The name's verb again. "Returns the book" of return_book gives a book back; elsewhere it answers."""
    following = words[1] if len(words) > 1 else None
    if following is None or following in _AFTER_NOUNS:
        return None
    if following in VALUES and following in own.objects:
        return Claim("names")
    if base == "return":
        return (
            Claim("writes", base)
            if own.objects & {*words[1:5], *(word + "s" for word in words[1:5])}
            else None
        )
    if base in TELLING and following in ("a", "an") and OP_OF_VERB.get(base) not in (None, *READS):
        return Claim("writes", base)  # "Report a problem" makes a report; "Report the balance" tells it
    if _is_verb(base):
        return _of_verb(base)
    # "Leaves feedback on a visit", of leave_feedback: a noun would keep its form before the same object.
    is_done = following in _DETERMINERS or following in ("it", "them")
    is_done = is_done or (words[0] != base and following in own.objects)
    return Claim("acts", base) if is_done else None


def _split_pair(base: str, words: list[str]) -> str | None:
    """ "Checks the guest in": the second half of the verb behind its object, where no place follows."""
    behind = _AFTER_NOUNS - {"of"}  # "out of order" is where it goes
    ends = (at for at in range(2, min(5, len(words))) if (words[at + 1 : at + 2] or ["for"])[0] in behind)
    return next((pair for at in ends if (pair := VERB_PAIRS.get((base, words[at]))) is not None), None)


def _of_pair(base: str, pair: str) -> Claim:
    """What is taken back is a thing; what is given, sent or handed back may be an answer."""
    is_deed = base in ("take", "bring") and OP_OF_VERB[pair] not in READS
    return Claim("writes", pair) if is_deed else _of_verb(pair)


def _is_verb(base: str) -> bool:
    return base in OP_OF_VERB or base in TELLING or base in DOING or base in _VAGUE


def _of_verb(base: str) -> Claim:
    if base in _VAGUE:
        return Claim("vague", base)
    if base in TELLING and base not in ("give",):
        return Claim("reads", base)
    op = OP_OF_VERB.get(base)
    if op is not None:
        return Claim("reads" if op in READS else "writes", base)
    return Claim("reads" if base == "give" else "writes", base)


def _is_noun_here(base: str, inflection: str, following: str | None) -> bool:
    """ "Orders of a customer", "Contact data", "Status": the word is a noun unless an object follows it."""
    if inflection == "ing":  # "Opening hours", "Billing address", "Openings that …"
        return following not in _DETERMINERS or following == "that"
    if base not in LEADING_NOUNS or base == "return" or (base in ADJECTIVES and inflection == "s"):
        return following is None and inflection == "plain"
    if following is None or following in _AFTER_NOUNS:
        return base not in ("check", "search", "look", "count")
    return following not in _DETERMINERS and not following.endswith("'s") and base not in _ALWAYS_VERBS


_ALWAYS_VERBS = word_set("check search look is has can does set update list count track view estimate change")


def _bases(word: str) -> Iterator[tuple[str, str]]:
    """closes → close, cancels → cancel, retrieving → retrieve, with the inflection."""
    yield word, "plain"
    if word.endswith("s") and not word.endswith("ss"):
        yield word[:-1], "s"
        if word.endswith("es"):
            yield word[:-2], "s"
        if word.endswith("ies"):
            yield word[:-3] + "y", "s"
    if word.endswith("ing") and len(word) > 5:
        yield word[:-3], "ing"
        yield word[:-3] + "e", "ing"
        if word[-4] == word[-5]:
            yield word[:-4], "ing"
