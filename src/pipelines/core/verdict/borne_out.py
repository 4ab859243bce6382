"""Whether the words of a clause are borne out: by the records it speaks of, by what calls did, by a rule that
it quotes."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from pipelines.core.english.dates import MONTHS, Dated, Timed
from pipelines.core.english.mentions import MARK
from pipelines.core.english.numbers import Quantity
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import MESSAGES, SIDE_DEEDS, related
from pipelines.core.simulation.reading.words import word_set
from pipelines.core.verdict.facts import Facts
from pipelines.core.verdict.known import Known
from pipelines.core.verdict.said import (
    AHEAD,
    NEGATED,
    QUESTION,
    Said,
    is_read,
    named_in,
    statements,
)
from pipelines.core.verdict.small_words import NEUTRAL
from pipelines.core.verdict.speech import content_stems, sentences

# Words of one who offers, asks or supposes: they state nothing about the backend.
_OFFERS = re.compile(
    r"^(?:and\s+|or\s+|but\s+|so\s+)?(?:if|in\s+case|should|would\s+you|do\s+you|shall\s+i|may\s+i|can\s+i|could\s+you"
    r"|can\s+you|let\s+me\s+know|feel\s+free|don't\s+hesitate|don't\s+worry|please(?!\s+(?:note|be\s+aware|remember|know|see))"
    r"|(?:i|we)(?:'d|\s+would|\s+can|\s+could|'m\s+happy\s+to|\s+am\s+happy\s+to|\s+hope|'m\s+here|\s+am\s+here)\b(?!\s*not|n't))\b"
)
SUPPOSED = re.compile(r"^(?:and\s+|or\s+|but\s+|so\s+)?(?:if|in\s+case|should|would\s+you|shall\s+i)\b")
# What follows of a supposition is supposed, too: `If it turns up, I'll submit it`.
_SUPPOSES = re.compile(r"^(?:if|once|as\s+soon\s+as|should|when|whenever|in\s+case)\b", re.IGNORECASE)
_THEN = re.compile(
    r"^(?!(?:if|once|as\s+soon|should|when|whenever|in\s+case)\b).*(?:\b(?:will|can|could|would|may)\b|'ll\b|'d\b)"
)
# A wish without a verb: `Fair winds!`
_EXCLAIMS = re.compile(r"^[^\d§]{3,40}!$")
_HAS_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|will|do|does|did|can|[a-z]+ed|got|sent|paid|free)\b|'(?:s|re|ve|ll|d)\b"
)
# What the user told is taken up: "glad to hear it has cleared up".
_FEELS = re.compile(r"\b(?:glad|happy|great|good|nice|lovely|sorry|sad)\s+to\s+hear\b")
_SYMPATHY = re.compile(
    r"^(?:and\s+|oh\W+(?:no\W+)?)?(?:i'm|i\s+am|we're|we\s+are|so|very|really)?\s*(?:so\s+|very\s+|really\s+|truly\s+)?"
    r"(?:sorry|apologies|sad|glad|happy|pleased|delighted)\s+(?:that\s+|about\s+|for\s+|if\s+|to\s+|you|your|it|this|we|the\s+|he\b|she\b|they\b)"
    r"|^(?:i|we)\s+(?:\w+ly\s+)?(?:understand|appreciate|apologi[sz]e|know|realise|realize|hope|wish|love|regret)\b"
    r"|^(?:have|enjoy|wishing|good|welcome|thank|thanks|cheers|congratulations|take\s+care|stay|get\s+well|drive\s+safely)\b"
)
# To tell somebody what to do is no statement: "bring your card".
_ADVICE = re.compile(
    r"^(?:and\s+|so\s+|then\s+|or\s+)?(?:do\s+|just\s+|simply\s+|kindly\s+|always\s+|never\s+|don't\s+|do\s+not\s+)?"
    r"(?:bring|call|come|contact|check|take|keep|make|visit|use|give|get|drop|ask|tell|try|reply|show|remember|see|wait"
    r"|be|go|look|rest|drive|travel|write|say|speak|pick|choose|return|read|follow)\s+(?!(?:is|are|was|has|been)\b)"
)
# What the agent does not know is no statement: "I can't tell from what I have here", "I see no date for it".
_UNKNOWING = re.compile(
    r"\b(?:i|we)\s+(?:\w+ly\s+)?(?:(?:can't|cannot|can\s+not|couldn't|could\s+not)\s+(?:tell|say|see|find|know|promise)"
    r"|(?:don't|do\s+not)\s+(?:know|have|see)|(?:see|have|found|find)\s+no)\b|^whether\b"
    r"|\bnot\s+able\s+to\s+(?:say|tell|see)\b|\b(?:isn't|is\s+not|wasn't|was\s+not)\s+(?:stated|given|known|shown|listed|mentioned)\b"
)
# What somebody is free or bound to do is a rule, and must stand in one.
_RULES = re.compile(
    r"\b(?:you|they|one)\s+(?:can|may|could|must|should|need|have\s+to|are\s+free\s+to|might)\b"
)
_DONE_TO_IT = re.compile(
    r"\b(?:been|being|was|were|is|are|has|have|got|get)\s+(?:(?:now|also|already|just|all|fully|indeed|\w+ly)\s+){0,3}"
    r"(?P<verb>(?!indeed\b|need\b)[a-z]{3,20}ed|put|sent|paid|made|given|taken|sold|written|sent|cut|set|held|kept|lost|won|left|gone)\b"
)
# In the passive, what has come to pass: "has been ordered for you". "is listed" only tells how a thing is.
_CAME_TO_PASS = re.compile(
    r"\b(?:has|have)\s+(?:now\s+|also\s+|already\s+|just\s+)?been\s+(?:\w+ly\s+)?(?P<verb>[a-z]{3,20}ed|sent|paid|sold)\b"
)
_PROMISED = re.compile(r"\b(?:will|shall|'ll)\s+be\s+(?:\w+ly\s+)?(?P<verb>[a-z]{3,20}ed|sent|paid)\b")
_NOTHING_DONE = frozenset(
    stem(word)
    for word in word_set(
        "done completed finished sorted listed shown included mentioned needed required noted checked looked "
        "marked flagged classed counted excluded named called titled tagged left tied set meant based handled"
    )
)
_VAGUE = word_set(
    "yesterday tomorrow tonight recently ago monday tuesday wednesday thursday friday saturday sunday"
)
# Nothing was done to it, and the ledger knows: `left as it was`, `unchanged`, `I haven't touched it`.
_UNCHANGED = re.compile(
    r"\b(?:unchanged|untouched|unaffected)\b|\b(?:as\s+(?:it|they)\s+(?:was|were|is|are)|exactly\s+as\s+before)\b"
    r"|\b(?:left|leave|leaving|kept)\s+(?:\S+\s+){1,4}?(?:alone|as\s+is|in\s+place|where\s+it\s+(?:is|was))\b"
    r"|(?:\bnot|n't)\s+(?:been\s+)?(?:changed|touched|altered|modified)\b"
)
_OF_LEAVING = frozenset(
    stem(word)
    for word in word_set(
        "unchanged untouched unaffected left leave leaving kept alone changed touched altered modified "
        "stay remain stand hold apply go continue planned agreed scheduled before place old present current"
    )
)
# What comes next is told: `Here's the breakdown for INV-71:`.
_INTRODUCES = re.compile(r"^(?:so\s+|and\s+)?here(?:'s|\s+is|\s+are)\s+[^:]*:$")
_OF_OTHERS = re.compile(r"\b(?:other|another|others|too|as\s+well)\b")
# What one says of a thing that will not be done. `is not attended` says how it is, and is looked up.
_DECLINED = re.compile(
    r"\b(?:cannot|can\s+not|can\s+no\s+longer|could\s+not|may\s+not|must\s+not|will\s+not|not\s+(?:able|possible|allowed|permitted|eligible)"
    r"|(?:(?:is|are|was|were)n't|(?:is|are|was|were)\s+not)\s+(?:\w+[ai]ble\b|able|possible|allowed|permitted|eligible|an\s+option|included|covered)"
    r"|(?:im)possible|unable|no\s+(?:longer\s+)?(?:possible|way|luck)|won't|(?:ca|could|wo|must)n't|didn't\s+work)\b"
)
_PREDICATE = re.compile(
    r"(?:\b(?:is|are)|'s|'re)\s+(?:now\s+|already\s+|currently\s+|still\s+|all\s+)?(?P<word>[a-z]{3,20})"
    r"(?=\W*$|\s+(?:to|and|for|with|now|again|since|as|from|in|at|of)\b|[,;:.(])"
)
# Deeds are told in these shapes. The user's wish for one bears none out.
_TELLS_DEED = re.compile(
    r"^(?:and\s+|also\s+|then\s+)*(?:i|we)(?:'ve|\s+have)\b|\b(?:has|have)\s+(?:\w+\s+)?been\b"
    r"|^(?:and\s+|also\s+|then\s+)*(?:(?:i|we)\s+)?(?:also\s+|just\s+)?(?:[a-z]{3,20}ed|left|sent|put|made|gave|told|set|paid|took|wrote|spoke)\b"
)
_PERFECT = re.compile(r"\b(?:has|have|had|was|were|did|is|are)\b|'s\b")
#: What else one says of a thing that was done.
CARRIED_OUT = frozenset(
    stem(word) for word in word_set("processed issued initiated completed submitted made arranged executed")
)


#: A deed of the agent's own is never only an explanation.
_FIRST_PERSON = re.compile(
    r"^(?:and\s+|also\s+|but\s+|so\s+)*(?:i|we)(?:'ve|\s+have)\s+(?:also\s+|now\s+|just\s+|already\s+)?(?!not\b|tried\b|had\b|looked\b|checked\b|to\b)[a-z]+"
)


def explains(said: Said, facts: Facts) -> bool:
    """Whether a clause declines or denies, stands beside one that does, or gives the words of the backend's
    refusal. Whether that is the right reason is judged with the refusal; a deed or a promise explains
    nothing."""
    came_to_pass = _CAME_TO_PASS.search(said.text) if not NEGATED.search(said.text) else None
    is_deed = came_to_pass is not None and stem(came_to_pass["verb"]) in facts.verbs
    if _FIRST_PERSON.search(said.text) or (is_deed and not facts.touched):
        return False
    named = named_in(said.raw, facts)
    if named and named.isdisjoint(facts.dealt_with):
        return False  # it was about something else
    if NEGATED.search(said.text) and not _DECLINED.search(said.text):
        if AHEAD.search(said.text) or _UNCHANGED.search(said.text):
            return False
        # What records know in all its words may be what is so, with its sign turned: that is looked up.
        words = (telling_words(said.text) | _verbs(said.text)) - facts.verbs
        return words <= facts.asked.stems or not all(map(facts.everything.tells, words))
    told = content_stems(said.sentence) - facts.verbs
    return NEGATED.search(said.sentence.lower()) is not None or any(
        not saying.isdisjoint(related(word)) for saying in facts.refusals for word in told
    )


def is_excused(said: Said) -> bool:
    """Offers, wishes, sympathy and advice state nothing about the backend; with a number, day or deed in them
    they may."""
    clause = said.text
    if any(pattern.search(clause) for pattern in (_OFFERS, _FEELS, _UNKNOWING, _INTRODUCES)):
        return True
    if _SUPPOSES.search(said.sentence) and _THEN.search(clause):
        return True
    if _EXCLAIMS.search(clause) and _HAS_VERB.search(clause) is None:
        return True
    is_plain = MARK not in clause and not _verbs(clause) and AHEAD.search(clause) is None
    return is_plain and any(pattern.search(clause) for pattern in (_SYMPATHY, _ADVICE))


def telling_words(clause: str) -> set[str]:
    """The stems of a clause that say something."""
    words = {
        word for word in content_stems(_ID.sub(" ", clause)) - NEUTRAL if not any(map(str.isdigit, word))
    }
    return words - _verbs(clause)


_ID = re.compile(r"\b[a-z]{1,8}[-_#]\w*\d[\w-]*")  # whether an id is one is looked up by itself


def _verbs(clause: str) -> set[str]:
    """What was done to a thing is never said by the way, not even in neutral words."""
    return {stem(found["verb"]) for found in _DONE_TO_IT.finditer(clause)} - _NOTHING_DONE


class Looked(NamedTuple):
    """What of a clause was looked up before its words are."""

    is_claim: bool  # what it says was done is borne out by calls
    settled: frozenset[str] = frozenset()  # words that were looked up


_NOT_AS_IT_WAS = re.compile(
    r"\bnot\s+(?:unchanged|untouched|unaffected|unable|as\s+before)\b|\bas\s+(?:it|they)\s+(?:is|are|was|were)\s+not\b"
    r"|\b(?:is|are|was|were)\s+not\s+(?:now|also|on|the)\b|\bnot\s+nothing\b|\bno\s+\w+\s+(?:was|is|were|are)\s+not\b"
)
#: That all is done, in words that name nothing: so it is where calls have changed something.
_ALL_DONE = re.compile(
    r"^(?:and\s+|so\s+)*(?:that's|that\s+is|it's|this\s+is|all|everything's|everything\s+is|consider\s+it)\s+(?:now\s+|all\s+)*"
    r"(?:settled|sorted|done|arranged|set|in\s+order|taken\s+care\s+of|resolved)\W*$"
    r"|^(?:and\s+|so\s+)*(?:i|we)(?:'ve\s+gone|\s+have\s+gone|\s+went)\s+ahead(?:\s+and\s+did\s+(?:so|that|it))?\W*$"
)
#: Of a day or time that lies ahead; no deed.
_EXPECTED = re.compile(
    r"\b(?:is|are)\s+(?:now\s+|still\s+|currently\s+)?(?:scheduled|expected|planned|supposed|due)\b|'(?:s|re)\s+(?:now\s+)?(?:scheduled|expected|due)\b"
)
#: What anybody may call a record that the world calls otherwise.
RECORD_NOUNS = frozenset(
    stem(word)
    for word in word_set(
        "booking reservation appointment order job case request bill trip visit entry arrangement purchase"
    )
)
_NEAR_DAYS = {"the day after tomorrow": 2, "tomorrow": 1, "yesterday": -1}
_RANKED = re.compile(r"\b(?:is|are|was|were|'s)\s+(?:the\s+|your\s+)?(?:best|worst)\b")


def is_borne_out(said: Said, known: Known, facts: Facts, looked: Looked) -> bool:
    is_verified, settled = looked.is_claim, looked.settled
    if _RANKED.search(said.text) or _NOT_AS_IT_WAS.search(said.text):
        return False  # by what, nobody can tell; nor what is meant by a denial that is denied
    if _ALL_DONE.search(said.text):
        return bool(facts.touched)
    clause = _EXPECTED.sub(" is ", said.text)
    verbs = _verbs(clause) - settled
    words = _open_words(clause, settled, known, facts)
    if settled and not words | verbs:
        return True  # all that it says was looked up
    # `tomorrow` is a day where the user has called it so.
    if any(stem(word) in words and stem(word) not in facts.asked.stems for word in _VAGUE):
        return False
    words -= {stem(word) for word in _VAGUE}
    has_value = bool(said.numbers or said.days or said.times)
    # What reckons is borne out by the number that it is said of, which was looked up before.
    words -= _RECKONS | _LEFT_OVER if has_value else frozenset()
    goes_on = _UNCHANGED.search(clause)
    if goes_on and settled.isdisjoint(_OF_LEAVING):
        is_so = not NEGATED.search(clause.replace(goes_on[0], " "))
        is_left = is_so and _is_unchanged(said, (words | verbs) - _OF_LEAVING, known, facts)
        if not has_value:
            return is_left
    if has_value or NEGATED.search(clause):
        # `no stock`, `0 in stock`: the field is there, and nothing is in it.
        full = {word for word in words | verbs if not _is_empty(word, known, facts)}
        is_less = settled or full < words | verbs
        if is_less and NEGATED.search(clause) and all(map(known.tells, full)):
            return True  # `there's no refund of the 378.00`, of a record with `refund: 0`
        words, verbs = words & full, verbs & full
    if not has_value and not NEGATED.search(clause) and any(map(known.is_empty, words)):
        return False  # `we have it in stock`, of a record with `stock: 0`
    is_denied = NEGATED.search(_without_states(clause, facts)) is not None
    predicates = _predicates(clause) - settled - (_RECKONS | _LEFT_OVER if has_value else frozenset())
    if not is_denied and not all(_is_so(word, known, facts) for word in predicates):
        return False
    done = {found["verb"] for found in _DONE_TO_IT.finditer(clause)}
    if not is_denied and any(
        stem(verb) in facts.tool_nouns and verb not in facts.states and stem(verb) not in known.fields
        for verb in done
    ):
        return False  # `report_repair` has repaired nothing
    if is_verified:
        return all(map(known.tells, words - CARRIED_OUT))
    if _OF_OTHERS.search(clause) and verbs and not said.numbers:
        return False
    if is_denied:
        return _is_true_denial(said, words | verbs, known, facts)
    if _RULES.search(clause):
        is_reckoned = len(said.numbers) > 1 and all(map(known.knows, words | verbs))
        return is_reckoned or _is_quoted(words | verbs, facts, clause)
    done -= {verb for verb in done if stem(verb) in settled}
    if not all(_is_done(verb, said, known, facts) for verb in done):
        return False
    if AHEAD.search(clause):
        return _is_foretold(said, words, verbs, known, facts)
    return all(map(known.tells if _TELLS_DEED.search(clause) else known.knows, words))


def _open_words(clause: str, settled: frozenset[str], known: Known, facts: Facts) -> set[str]:
    """The stems of a clause that say something, but for what is settled: days that are known by their names,
    fields that are denied in one word, records that are called otherwise."""
    words = telling_words(clause) - settled
    words -= {word for word in words & RECORD_NOUNS if word not in facts.kind_stems}
    words -= {stem(name) for day in known.weekdays for name in (day, day[:3], day[:4], day[:5])}
    words -= {stem(MONTHS[month - 1]) for month in known.months}
    for said_so, later in _NEAR_DAYS.items():
        day = facts.day_of_run(later)
        if re.search(rf"\b{said_so}\b", clause) and day is not None and known.has_day([day]):
            words -= {stem(word) for word in said_so.split()}
            break
    return words


def _is_foretold(said: Said, words: set[str], verbs: set[str], known: Known, facts: Facts) -> bool:
    """Whether what is said to lie ahead stands in a rule, or in what was done."""
    promised = {stem(found["verb"]) for found in _PROMISED.finditer(said.text)}
    if any(one.is_denied and promised & one.words and words & one.words - promised for one in facts.sayings):
        return False  # a rule says that it will not be
    has_mention = bool(said.numbers or said.days)
    if said.days and not verbs and all(not known.dated.isdisjoint(related(word)) for word in words):
        return True  # `expected to close on …`, of a record with `close_date`
    return _is_quoted(words | verbs, facts, said.text) or (
        has_mention and all(map(facts.done.knows, words | verbs))
    )


#: Words of a clause that say how its number was come by.
_RECKONS = frozenset(
    stem(word)
    for word in word_set(
        "pay pays save saves saved saving difference week weeks month months monthly year years yearly "
        "day days hour hours "
        "minute minutes kilowatt spare cheaper dearer overdue outstanding minimum maximum quarter half "
        "double doubled "
        "triple equal equals unit one ones minus plus split late charge price cost rate"
    )
)


#: Said of what is left; such a number is looked up as one (`Figures.miscounts`).
_LEFT_OVER = frozenset(stem(word) for word in word_set("free available unused outstanding"))


def _without_states(clause: str, facts: Facts) -> str:
    """`failed` may be a state, and denies nothing then."""
    return re.sub(r"[a-z]+", lambda found: " " if found[0] in facts.states else found[0], clause)


def _predicates(clause: str) -> set[str]:
    """What a thing is said to be: `is ready`."""
    said = {found["word"] for found in _PREDICATE.finditer(clause)}
    return {word for each in said for word in content_stems(each)} - NEUTRAL - _NOTHING_DONE


def _is_so(word: str, known: Known, facts: Facts) -> bool:
    """A value says how a thing is, and so does a deed; the name of a field (`ready_at`) does not."""
    if not known.states.isdisjoint(related(word)) or not facts.deeds.states.isdisjoint(related(word)):
        return True
    return word in known.present and word in known.fields and word not in known.absent


def _is_empty(word: str, known: Known, facts: Facts) -> bool:
    return any(known.is_empty(other) or other in facts.emptied for other in related(word))


def _is_done(verb: str, said: Said, known: Known, facts: Facts) -> bool:
    """A deed of the run or of a record; or what a field is called whose value the clause gives: `prescribed
    by Dr. Sandoval`, of a record with `prescriber`."""
    word = stem(verb)
    if word in _NOTHING_DONE or facts.deeds.knows(word) or verb in facts.states:
        return True
    if word in ENTERED:
        named = named_in(said.raw, facts)
        return bool(named & facts.touched if named else facts.touched)
    if word in _REFUSED and facts.refused_verbs:
        return True
    others = telling_words(said.text) - {word}
    if any(one.is_carried_out and word in one.stems and others & one.stems for one in facts.sayings):
        return True  # `one night is kept as a fee`, of the tool that was called
    text = said.raw
    if any(_is_alike(key, word) and any(v in text for v in vs) for key, vs in facts.spoken_fields.items()):
        return True
    return bool(said.numbers or said.days) and any(
        _is_alike(key, word) for key in known.fields.keys() | known.dated
    )


def _is_alike(field: str, verb: str) -> bool:
    return field[:LEAST_ALIKE] == verb[:LEAST_ALIKE] if len(verb) >= LEAST_ALIKE else field.startswith(verb)


#: Any call that changed something can be told so: it was entered.
ENTERED = frozenset(
    stem(word) for word in word_set("recorded submitted saved registered logged entered lodged filed stored")
)
_REFUSED = frozenset(stem(word) for word in word_set("rejected refused declined denied"))
LEAST_ALIKE = 4  # letters that a verb and the name of its field share: `declared`, `declared_value`


def _is_quoted(words: set[str], facts: Facts, clause: str = "") -> bool:
    """One word that a rule has, too, is no quotation of it, nor are the names of deeds alone: a rule says
    when they may not be done. Nor is what a rule denies and the clause affirms."""
    is_telling = len(words) > 1 and not words <= facts.verbs
    is_denied = NEGATED.search(clause) is not None or not clause
    said = [*facts.refusals]
    if is_telling:
        said += [one.stems for one in facts.sayings if is_denied or not one.is_denied]
    return any(all(not stems.isdisjoint(related(word)) for word in words) for stems in said)


def _is_unchanged(said: Said, words: set[str], known: Known, facts: Facts) -> bool:
    """What is named was not touched; where nothing is named, nothing was."""
    named = named_in(said.raw, facts)
    return not (named & facts.touched if named else facts.touched) and all(map(known.knows, words))


def _is_true_denial(said: Said, words: set[str], known: Known, facts: Facts) -> bool:
    """`you owe nothing now`, of one whose fees are 0; `not renewed`, of what no call has touched."""
    clause = said.text
    nothing = _NOTHING_WAS.search(clause)
    is_of_deed = _OWN_DENIAL.search(clause) is not None or (
        nothing is not None and stem(nothing["verb"]) in facts.verbs | related("charg")
    )
    if is_of_deed and not facts.touched and not said.days:
        return True  # where nothing was changed, whatever the agent says it has not done is not done
    has_value = any(one.unit or one.currency or one.values != {Decimal(1)} for one in said.numbers)
    if not words:
        return not (has_value or said.days or said.times)
    if _DENIES_VALUE.search(clause) and (has_value or said.days or said.times) and not facts.is_refusal:
        return _is_quoted(words, facts, clause)  # `is not 630`, of what is 630, is no rule
    named = named_in(said.raw, facts)
    is_untouched = not named & facts.touched if named else not facts.touched
    denied = words & facts.verbs
    states = {word for word in words if word in _ANY_OF or not facts.vocabulary.isdisjoint(related(word))}
    if len(states) == 1 and not has_value and all(map(known.knows, words - states)):
        meant = {other for word in states for other in related(word) | _ANY_OF.get(word, frozenset())}
        if known.states.isdisjoint(meant) and not any(map(facts.done.knows, states)):
            return True  # `not decided yet`, of what is neither approved nor rejected
    if is_untouched and denied and all(map(known.knows, words - denied)):
        return True
    if not is_untouched and denied and _PERFECT.search(clause):
        return False  # what was done is not undone by a rule
    return _is_quoted(words, facts)


_OWN_DENIAL = re.compile(
    r"^(?:and\s+|but\s+|so\s+)*(?:i|we)\s*(?:haven't|have\s+not|'ve\s+not|didn't|did\s+not)\b"
)
#: `no eggs have been ordered`, `nothing was charged`
_NOTHING_WAS = re.compile(
    r"\b(?:no|nothing|none|nobody)\b[^,;:]{0,40}?\b(?:has|have|was|were)\s+(?:been\s+)?(?P<verb>[a-z]{3,20}(?:ed|id))\b"
)
_ENDS = frozenset(
    stem(word)
    for word in word_set("approved rejected granted denied accepted upheld dismissed settled paid closed")
)
#: What a word stands for that names several states at once.
_ANY_OF = {stem("decided"): _ENDS, stem("decision"): _ENDS}
_DENIES_VALUE = re.compile(r"\b(?:is|are|was|were)(?:\s+not|n't)\b|'s\s+not\b")


def facts_of(text: str, facts: Facts) -> list[str]:
    """Numbers, days and states that an answer gives and the user did not."""
    found: dict[str, None] = {}
    for sentence in sentences(text) if not facts.is_refusal else ():
        for said in statements(sentence) if not QUESTION.search(sentence) else ():
            every: list[Dated | Timed | Quantity] = [*said.days, *said.times, *said.numbers]
            for one in every:
                found[sentence[one.start : one.end]] = None
            for word in re.findall(r"[a-z_]+", said.text):
                if word in facts.states and stem(word) not in facts.asked.stems:
                    found[word] = None
    return list(found)


def deeds_of_no_call(text: str, facts: Facts) -> Iterator[tuple[str, str]]:
    """(verb, sentence) of what is said to have been done, by a verb that no call, reply or record knows."""
    for sentence in dict.fromkeys(sentences(text)):
        for said in statements(sentence) if not QUESTION.search(sentence) and is_read(sentence) else ():
            for found in _CAME_TO_PASS.finditer(said.text) if said.is_stated else ():
                verb = stem(found["verb"])
                if verb in SIDE_DEEDS | MESSAGES and not facts.deeds.knows(verb):
                    yield found["verb"], sentence
