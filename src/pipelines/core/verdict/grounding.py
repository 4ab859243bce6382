"""Everything an answer says, looked up: what is not in the log, and not excused, is left for a person.

sentence -> clauses -> is it a statement at all; its numbers, days, ids and states; the words that are left.
A statement is borne out by the records of the things it speaks of, not by anything that happens to be known.
A number, day or id that nobody told the agent and that follows from nothing is false, not only strange.
"""

import re
from collections.abc import Collection, Iterator
from decimal import Decimal
from itertools import islice, zip_longest
from typing import NamedTuple

from pipelines.core.english.dates import MONTHS, Dated, Timed
from pipelines.core.english.mentions import MARK, mentions, without_mentions
from pipelines.core.english.numbers import Quantity
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import SIDE_DEEDS, related
from pipelines.core.simulation.reading.words import word_set
from pipelines.core.verdict.arithmetic import COMPARED, could_follow, is_miscounted, is_told
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.facts import Facts, bare
from pipelines.core.verdict.known import Known
from pipelines.core.verdict.small_words import NEUTRAL
from pipelines.core.verdict.speech import LONGEST_SENTENCE, clauses, content_stems, sentences
from pipelines.core.verdict.wording import listing

MOST_LEFT_OVER = 5
LONGEST_NAME = 4  # words of a name that a sentence calls a thing by
_QUESTION = re.compile(r"\?[\"')\]]*$")
# Words of one who offers, asks or supposes: they state nothing about the backend.
_OFFERS = re.compile(
    r"^(?:and\s+|or\s+|but\s+|so\s+)?(?:if|in\s+case|should\s+you|would\s+you|do\s+you|shall\s+i|may\s+i|can\s+i|could\s+you"
    r"|can\s+you|let\s+me\s+know|feel\s+free|don't\s+hesitate|don't\s+worry|please(?!\s+(?:note|be\s+aware|remember|know|see))"
    r"|(?:i|we)(?:'d|\s+would|\s+can|\s+could|'m\s+happy\s+to|\s+am\s+happy\s+to|\s+hope|'m\s+here|\s+am\s+here)\b(?!\s*not|n't))\b"
)
_SUPPOSED = re.compile(
    r"^(?:and\s+|or\s+|but\s+|so\s+)?(?:if|in\s+case|should\s+you|would\s+you|shall\s+i)\b"
)
# What the user told is taken up: "glad to hear it has cleared up".
_FEELS = re.compile(r"\b(?:glad|happy|great|good|nice|lovely|sorry|sad)\s+to\s+hear\b")
# What the agent does not know is no statement: "I can't tell from what I have here", "I see no date for it".
_UNKNOWING = re.compile(
    r"\b(?:i|we)\s+(?:\w+ly\s+)?(?:(?:can't|cannot|can\s+not|couldn't|could\s+not)\s+(?:tell|say|see|find|know|promise)"
    r"|(?:don't|do\s+not)\s+(?:know|have|see)|(?:see|have|found|find)\s+no)\b|^whether\b"
)
NEGATED = re.compile(
    r"\b(?:not|never|no|nor|neither|cannot|without|unable|fail(?:s|ed)?|none|nothing|nobody)\b|n't\b"
)
_AHEAD = re.compile(
    r"\b(?:will|shall|going\s+to|shortly|soon|tomorrow|within|expect(?:ed)?|upcoming)\b|'ll\b"
)
# What somebody is free or bound to do is a rule, and must stand in one.
_RULES = re.compile(
    r"\b(?:you|they|one)\s+(?:can|may|could|must|should|need|have\s+to|are\s+free\s+to|might)\b"
)
_QUOTES_USER = re.compile(
    r"\b(?:you(?:'ve|\s+have)?\s+(?:asked|mentioned|said|gave|provided|wanted|requested)|your\s+(?:request|message))\b"
)
_HEDGED = re.compile(
    r"\b(?:if|would|could|can|may|might|should|must|usually|normally|typically|always|about|around|roughly|up\s+to|at\s+least"
    r"|at\s+most|over|under|more\s+than|less\s+than|unless|each|every|per|for\s+the\s+next)\b"
)
_WAS = re.compile(
    r"\b(?:was|were|had|before|previous(?:ly)?|originally|formerly|from|instead|old|used\s+to|down|up)\b|→|->"
)
_DONE_TO_IT = re.compile(
    r"\b(?:been|was|were|is|are|has|have|got|get)\s+(?:(?:now|also|already|just|all|fully|\w+ly)\s+){0,3}"
    r"(?P<verb>[a-z]{3,20}ed|put|sent|paid|made|given|taken|sold|written|sent|cut|set|held|kept|lost|won|left|gone)\b"
)
# In the passive, what has come to pass: "has been ordered for you". "is listed" only tells how a thing is.
_CAME_TO_PASS = re.compile(
    r"\b(?:has|have)\s+(?:now\s+|also\s+|already\s+|just\s+)?been\s+(?:\w+ly\s+)?(?P<verb>[a-z]{3,20}ed|sent|paid|sold)\b"
)
_NOTHING_DONE = frozenset(
    stem(word)
    for word in word_set(
        "done completed finished sorted listed shown included mentioned needed required noted checked looked"
    )
)
_VAGUE = word_set(
    "yesterday tomorrow tonight recently ago monday tuesday wednesday thursday friday saturday sunday"
)
_CALLED_TODAY = re.compile(r"\b(?:today(?:'s\s+date)?(?:\s+is)?|as\s+of)\W{0,3}$", re.IGNORECASE)
_TODAY_FOLLOWS = re.compile(r"\W{0,3}today\b", re.IGNORECASE)
_NOTHING_LEFT = re.compile(
    r"\b(?:nothing|no|zero|none)\b.*\b(?:left|owed?|due|pay|payable|outstanding|remain(?:s|ing)?)\b"
    r"|\bowe\s+(?:us\s+)?nothing\b"
)
_OF_OTHERS = re.compile(r"\b(?:other|another|others|too|as\s+well)\b")
_PERFECT = re.compile(r"\b(?:has|have|had|was|were|did|is|are)\b|'s\b")
_FROM_TO = re.compile(rf"\bfrom\s+{MARK}\s+(?:down\s+|up\s+)?to\s+{MARK}|{MARK}\s*(?:→|->)\s*{MARK}")
_ARROW = ("→", "->")
LONGEST_LEAD = 4  # words before a number that say what it is
_CENTS = re.compile(r"[.,]\d\d$")
_REFERENCE = re.compile(r"#?[a-z0-9][a-z0-9_\-./@:]*[a-z0-9]|#\d", re.IGNORECASE)


_FOREIGN = word_set(
    "der das und ist nicht ein eine einen für mit auf von zu dem sie ich wir ihr ihre wurde noch sich bei im "
    "le la les des une est pas pour avec sur vous votre nous été du au et un que qui je ce "
    "el los las una está para con su por se ha sido del al usted y hay como muy ya"
)
_ENGLISH = word_set(
    "the a an is are was were be been has have had i you your it its we our of to for and or in on at with "
    "not that this as from by will can"
)
#: What else one says of a thing that was done.
CARRIED_OUT = frozenset(
    stem(word) for word in word_set("processed issued initiated completed submitted made arranged executed")
)


class LeftOver(NamedTuple):
    """Something an answer says that nothing in the run bears out."""

    phrase: str
    sentence: str
    instead: str = ""  # what the run says in its place
    is_false: bool = False  # nothing could bear it out: not only strange


class Said(NamedTuple):
    """One clause of a sentence, with what stands behind its marks."""

    text: str  # in lower case, with MARK for each mention
    sentence: str
    days: tuple[Dated, ...] = ()
    times: tuple[Timed, ...] = ()
    numbers: tuple[Quantity, ...] = ()
    leads: tuple[tuple[int, str], ...] = ()  # where each mention stands, and the words that lead up to it

    @property
    def raw(self) -> str:
        """In lower case, with the mentions as they were written."""
        every: list[Dated | Timed | Quantity] = [*self.days, *self.times, *self.numbers]
        ends = {one.start: one.end for one in every}
        written = [self.sentence[start : ends[start]].lower() for start, _ in self.leads]
        pieces = self.text.split(MARK)
        return "".join(piece + mark for piece, mark in zip_longest(pieces, written, fillvalue=""))

    @property
    def is_stated(self) -> bool:
        """Meant to be so now: no supposition, offer, promise, rule or denial."""
        return is_stated(self.text) and NEGATED.search(self.text) is None


def left_over(evidence: RunEvidence, facts: Facts, verified: Collection[str] = ()) -> list[LeftOver]:
    """What remains of the answers when all that can be looked up is taken away; `verified` are clauses that
    were borne out elsewhere, of which only the rest is looked at."""
    found: dict[tuple[str, frozenset[str]], tuple[LeftOver, ...]] = {}  # what is repeated is read once
    verified = {without_mentions(clause) for clause in verified}
    named: dict[str, frozenset[str]] = {}
    for text in evidence.responses:
        focus = named_in(evidence.user_instruction, facts)
        for sentence in sentences(text):
            evidence.keep_going()
            if sentence not in named:
                named[sentence] = named_in(sentence, facts)
            focus = named[sentence] or focus
            if (sentence, focus) not in found:
                found[sentence, focus] = tuple(_of_sentence(sentence, focus, facts, verified))
    return list(dict.fromkeys(one for ones in found.values() for one in ones))


def _of_sentence(
    sentence: str, focus: frozenset[str], facts: Facts, verified: Collection[str]
) -> Iterator[LeftOver]:
    if _QUESTION.search(sentence):
        return
    if is_foreign(sentence):
        yield LeftOver("", sentence)
        return
    if len(sentence) > LONGEST_SENTENCE:
        yield LeftOver(sentence[:LONGEST_SENTENCE], sentence)
        return
    known = facts.about(focus) if focus else facts.everything
    yield from _strange_references(sentence, facts)
    for said in statements(sentence):
        if _SUPPOSED.search(said.text):
            continue
        strange = [*_strange_mentions(said, known, facts)]
        if strange and not any(one.is_false for one in strange) and _is_of_one_record(said, facts):
            strange = []
        yield from strange
        if not strange and _mixes_things(said, facts):
            yield LeftOver(said.text.replace(MARK, "…"), sentence)
            continue
        # Why a refusal was made is judged with the refusal.
        is_excused = _is_excused(said.text) or (facts.is_refusal and _explains(sentence, facts))
        if not strange and not is_excused and not _is_borne_out(said, known, facts, said.text in verified):
            yield LeftOver(said.text.replace(MARK, "…"), sentence)


def _mixes_things(said: Said, facts: Facts) -> bool:
    """Whether a clause gives facts of several things of a list as if they were of one."""
    if _OF_SEVERAL.search(said.text):
        return False
    for things in facts.list_things:
        held = [_held(said, thing) for thing in things]
        telling = {each for one in held for each in one if not all(each in other for other in held)}
        if len(telling) > 1 and not any(telling <= one for one in held):
            return True
    return False


def _held(said: Said, thing: Known) -> set[str]:
    """What of a clause one thing of a list holds."""
    found = {str(day.start) for day in said.days if thing.has_day(day.days)}
    found |= {str(number.start) for number in said.numbers if thing.has_number(number)}
    return found | {word for word in _words(said.text) if word in thing.stems}


_OF_SEVERAL = re.compile(
    r"\b(?:and|both|all|each|two|three|four|total|together|or|only|other|while|from)\b|[+×→]"
)


def _explains(sentence: str, facts: Facts) -> bool:
    """Whether a sentence declines, or gives the words of a rule or of the backend's refusal."""
    words = content_stems(sentence) - facts.verbs
    return NEGATED.search(sentence.lower()) is not None or any(
        not said.isdisjoint(related(word)) for said in facts.refusals for word in words
    )


def is_read(sentence: str) -> bool:
    return len(sentence) <= LONGEST_SENTENCE


def statements(sentence: str) -> list[Said]:
    """The clauses of a sentence, each with its own numbers, days and times."""
    read = mentions(sentence)
    every: list[Dated | Timed | Quantity] = [*read.days, *read.times, *read.numbers]
    in_order = iter(sorted(every, key=lambda one: one.start))
    found = []
    for clause in clauses(without_mentions(sentence)):
        own = [*islice(in_order, clause.count(MARK))]
        found.append(
            Said(
                clause,
                sentence,
                tuple(one for one in own if isinstance(one, Dated)),
                tuple(one for one in own if isinstance(one, Timed)),
                tuple(one for one in own if isinstance(one, Quantity)),
                tuple((one.start, lead) for one, lead in zip(own, clause.split(MARK), strict=False)),
            )
        )
    return found


def is_foreign(sentence: str) -> bool:
    """German, French or Spanish, by its small words: the embedded judge reads English."""
    words = re.findall(r"[^\W\d_]+", sentence.lower())
    return sum(word in _FOREIGN for word in words) > max(1, sum(word in _ENGLISH for word in words))


def is_stated(sentence: str) -> bool:
    """No supposition, offer, promise or rule: what it says is meant to be so now."""
    return _HEDGED.search(sentence) is None and _AHEAD.search(sentence) is None


# What can be looked up as it stands


def _strange_mentions(said: Said, known: Known, facts: Facts) -> Iterator[LeftOver]:
    """Numbers, days and times that the records do not hold, and what they hold instead."""
    is_quoted = _QUOTES_USER.search(said.text) or NEGATED.search(said.text)
    asked = facts.asked if is_quoted else Known()
    everything = facts.everything
    sentence = said.sentence
    for day in said.days:
        is_known = known.has_day(day.days) or asked.has_day(day.days)
        if not is_known and not _is_today(sentence, day, facts):
            is_false = not everything.has_day(day.days) and not facts.asked.has_day(day.days)
            instead = "another day" if known.days else ""
            yield _strange(said, sentence[day.start : day.end], instead, is_false and bool(known.days))
    for time in said.times:
        if not time.minutes & (known.times | asked.times):
            is_false = not time.minutes & (everything.times | facts.asked.times) and bool(known.times)
            yield _strange(said, sentence[time.start : time.end], "another time", is_false)
    counts = {Decimal(len(named_in(sentence, facts))), Decimal(len(facts.asked_for))}
    for number in said.numbers:
        written = sentence[number.start : number.end]
        is_named = number.currency is None and (
            bare(written) in facts.subjects or _is_part_of_a_name(sentence, number, facts)
        )
        if known.fields.keys() & content_stems(number.unit):
            counts = set()
        if written.lower() != "one" and not (asked.has_number(number) or is_named or number.values <= counts):
            yield from _strange_number(said, number, known, facts)


def _is_today(sentence: str, day: Dated, facts: Facts) -> bool:
    """`today, 1 May 2026` on that day of the run's world."""
    today = facts.day_of_run()
    is_so_called = _CALLED_TODAY.search(sentence[: day.start]) or _TODAY_FOLLOWS.match(sentence, day.end)
    return bool(today and is_so_called and any(each.agrees_with(today) for each in day.days))


def _is_part_of_a_name(sentence: str, number: Quantity, facts: Facts) -> bool:
    """`Max 60` is a name."""
    before = sentence[: number.start].rsplit(None, 1)[-1:]
    return bool(before) and bare(before[0] + sentence[number.start : number.end]) in facts.names


def _strange(said: Said, phrase: str, instead: str, is_false: bool) -> LeftOver:
    is_false = is_false and said.is_stated
    return LeftOver(phrase, said.sentence, instead if is_false else "", is_false)


def _strange_number(said: Said, number: Quantity, known: Known, facts: Facts) -> Iterator[LeftOver]:
    written = said.sentence[number.start : number.end]
    unit = stem(number.unit) if number.unit else ""
    of_before = _WAS.search(said.sentence.lower()) is not None
    old = frozenset() if of_before or not unit else facts.outdated.get(unit, frozenset())
    told = (known.fields.get(unit) if unit else None) or set()
    now = told - old
    all_said = mentions(said.sentence).numbers
    is_known = is_told(
        number,
        said.text,
        known,
        said=all_said,
        rules=facts.given,
        is_exact=_CENTS.search(written) is not None,
    )
    if told and not number.values & now and (not is_known or number.unit not in COMPARED):
        shown = listing([format(value, "f") for value in sorted(now)])
        yield _strange(said, f"{written} {number.unit}", f"{number.unit}: {shown}", True)
    elif not is_known or not _fits_its_field(said, number, known, facts):
        of_it = known if named_in(said.sentence, facts) else facts.everything
        is_false = _is_about_a_field(said, number, known) and not _may_come_of(number, written, of_it, facts)
        is_false = is_false or is_miscounted(number, known, all_said)
        yield _strange(said, written, "another amount" if number.currency else "another number", is_false)


def _fits_its_field(said: Said, number: Quantity, known: Known, facts: Facts) -> bool:
    """`the new total is 46.00`: where the words before a number name a field, it is one of that field, and
    unless it is told of the past, one that holds after the run."""
    lead = next((lead for start, lead in said.leads if start == number.start), "")
    words = content_stems(" ".join(lead.split()[-LONGEST_LEAD:])) & known.fields.keys()
    unit = content_stems(number.unit)
    done = {stem(word) for word in lead.split()[-1:]} & facts.verbs
    if done and facts.amounts_given and not unit:
        return bool({abs(value) for value in number.values} & facts.amounts_given)
    if _FROM_TO.search(said.text) and facts.outdated and not unit:
        return _is_in_order(said, number, lead, facts)
    if not words or unit & known.fields.keys() or number.unit in COMPARED or lead.endswith("by "):
        return True
    of_before = _WAS.search(said.sentence.lower()) is not None
    fitting: set[Decimal] = set()
    for word in words:
        old = frozenset() if of_before else facts.outdated.get(word, frozenset())
        fitting |= known.fields[word] - old
    fitting |= facts.quotable | known.column_sums
    return bool({abs(value) for value in number.values} & fitting)


def _is_in_order(said: Said, number: Quantity, lead: str, facts: Facts) -> bool:
    """`from 387 to 429`, `387 → 429`: what it was, and what it is."""
    old = {value for numbers in facts.outdated.values() for value in numbers}
    is_old = bool({abs(value) for value in number.values} & old)
    last = lead.split()[-1:]
    is_first = last == ["from"] or said.sentence[number.end :].lstrip().startswith(_ARROW)
    is_second = last == ["to"] or (bool(last) and last[0] in _ARROW)
    return is_old if is_first else not is_old or not is_second


def _is_about_a_field(said: Said, number: Quantity, known: Known) -> bool:
    """Whether the clause says what the number is: money, or a field that is known."""
    is_money = number.currency is not None or any(value % 1 for value in number.values)
    words = {other for word in content_stems(said.text) for other in related(word)}
    return bool(known.numbers) and (is_money or not words.isdisjoint(known.fields))


def _may_come_of(number: Quantity, written: str, known: Known, facts: Facts) -> bool:
    """`known` is what was told of the things that the sentence names, else everything."""
    is_heard = known.has_number(number) or (known is facts.everything and facts.asked.has_number(number))
    return is_heard or could_follow(number, known) or re.sub(r"\D", "", written) in facts.digits.split()


def _strange_references(sentence: str, facts: Facts) -> Iterator[LeftOver]:
    """Ids that nobody gave. One that is spelled like those that were given is meant for one of them."""
    for token in references(sentence):
        if not _is_id(token, facts):
            is_false = _shape(token) in facts.shapes and is_stated(sentence.lower())
            instead = "other ids" if is_false else ""
            yield LeftOver(token, sentence, instead, is_false)


def _shape(text: str) -> str:
    return re.sub(r"\d", "9", text.lower().lstrip("#"))


def _is_of_one_record(said: Said, facts: Facts) -> bool:
    """Whether one record holds all that a clause mentions: then it speaks of that one without naming it."""
    words = _words(said.text)
    if said.numbers or not said.days:
        return False  # many records hold the same numbers, and many days are told only once
    for known in facts.of_one_record:
        if (
            all(known.has_day(day.days) for day in said.days)
            and all(time.minutes & known.times for time in said.times)
            and all(map(known.knows, words))
        ):
            return True
    return False


def references(sentence: str) -> Iterator[str]:
    """Words with digits in them that are no number, day or time."""
    taken = iter([*mentions(sentence).spans(), (len(sentence), len(sentence))])
    start, end = next(taken)
    for token in _REFERENCE.finditer(sentence):
        while end <= token.start():
            start, end = next(taken)
        if token.end() <= start and any(map(str.isdigit, token[0])):
            yield token[0]


def _is_id(text: str, facts: Facts) -> bool:
    name = bare(text)
    return bool(name) and (name in facts.names or name in facts.asked_bare)


def named_in(sentence: str, facts: Facts) -> frozenset[str]:
    """The records a sentence names, by an id or by a name of several words."""
    words = [bare(word) for word in re.findall(r"[\w#@.\-/']+", sentence.lower())]
    subjects, starts = facts.subjects, facts.subject_starts
    found: set[str] = set()
    for at, word in enumerate(words):
        if word[:2] in starts or len(word) < 2:
            name = ""
            for further in words[at : at + LONGEST_NAME]:
                name += further
                found |= subjects.get(name, frozenset())
    return frozenset(found)


# What has to be understood


def _is_excused(clause: str) -> bool:
    return any(pattern.search(clause) for pattern in (_OFFERS, _FEELS, _UNKNOWING))


def _words(clause: str) -> set[str]:
    """The stems of a clause that say something."""
    words = {word for word in content_stems(clause) - NEUTRAL if not any(map(str.isdigit, word))}
    return words - _verbs(clause)


def _verbs(clause: str) -> set[str]:
    """What was done to a thing is never said by the way, not even in neutral words."""
    return {stem(found["verb"]) for found in _DONE_TO_IT.finditer(clause)} - _NOTHING_DONE


def _is_borne_out(said: Said, known: Known, facts: Facts, is_verified: bool) -> bool:
    clause = said.text
    verbs = _verbs(clause)
    words = _words(clause) - {stem(day) for day in known.weekdays}
    words -= {stem(MONTHS[month - 1]) for month in known.months}
    yesterday = facts.day_of_run(-1)
    if yesterday is not None and known.has_day([yesterday]):
        words -= {stem("yesterday")}
    if any(stem(word) in words for word in _VAGUE):
        return False
    if is_verified:
        return all(known.knows(word) or word in CARRIED_OUT for word in words)
    if _OF_OTHERS.search(clause) and verbs:
        return False
    if NEGATED.search(clause):
        return _is_true_denial(said, words | verbs, known, facts)
    if _RULES.search(clause):
        return _is_quoted(words | verbs, facts)
    if not all(map(facts.deeds.knows, verbs)):
        return False
    if says_present(clause) and any(says_is(clause, state) for state in facts.outdated_states):
        return False  # so it was, before the run changed it
    if _AHEAD.search(clause):
        has_mention = bool(said.numbers or said.days)
        return _is_quoted(words | verbs, facts) or (has_mention and all(map(facts.done.knows, words)))
    return all(map(known.knows, words))


def _is_quoted(words: set[str], facts: Facts) -> bool:
    """One word that a rule has, too, is no quotation of it."""
    said = [*facts.refusals, *facts.sayings] if len(words) > 1 else facts.refusals
    return any(all(not stems.isdisjoint(related(word)) for word in words) for stems in said)


def _is_true_denial(said: Said, words: set[str], known: Known, facts: Facts) -> bool:
    """`you owe nothing now`, of one whose fees are 0; `not renewed`, of what no call has touched."""
    clause = said.text
    if Decimal() in known.numbers and _NOTHING_LEFT.search(clause):
        return all(map(known.knows, words - _OWED))
    if not words:
        return not (said.numbers or said.days or said.times)
    named = named_in(said.raw, facts)
    is_untouched = not named & facts.touched if named else not facts.touched
    denied = words & facts.verbs
    if is_untouched and denied and all(map(known.knows, words - denied)):
        return True
    if not is_untouched and denied and _PERFECT.search(clause):
        return False  # what was done is not undone by a rule
    return _is_quoted(words, facts)


_OWED = frozenset(stem(word) for word in word_set("owe owed due pay payable outstanding left remain"))


def facts_of(text: str, facts: Facts) -> list[str]:
    """Numbers, days and states that an answer gives and the user did not."""
    found: dict[str, None] = {}
    for sentence in sentences(text) if not facts.is_refusal else ():
        for said in statements(sentence) if not _QUESTION.search(sentence) else ():
            every: list[Dated | Timed | Quantity] = [*said.days, *said.times, *said.numbers]
            for one in every:
                found[sentence[one.start : one.end]] = None
            for word in re.findall(r"[a-z_]+", said.text):
                if word in facts.states and stem(word) not in facts.asked.stems:
                    found[word] = None
    return list(found)


_PRESENT = re.compile(r"\b(?:is|are|it's|that's|you're|now|currently|still|remains?|stays?)\b")
_PAST = re.compile(
    r"\b(?:was|were|had|before|previous(?:ly)?|originally|from|instead|old|used\s+to|formerly|until|no\s+longer)\b"
)
_IS = (
    r"\b(?:is|are|was|were|been|be|it's|that's|he's|she's|has|have|had|status|now|still|currently|already"
    r"|marked\s+as)\s*:?"
)


def says_present(clause: str) -> bool:
    return _PRESENT.search(clause) is not None and _PAST.search(clause) is None


def says_is(clause: str, state: str) -> bool:
    """`is now frozen`, `has already shipped`: a state word where something is said to be so."""
    spelled = re.escape(state).replace("_", r"[\s_-]")
    following = r"(?=\W*$|\s+(?:with|and|now|again|since|as|from|on|in|at|by)\b|[,;:.(])"
    saying = rf"{_IS}\s+(?:\w+ly\s+|now\s+|already\s+|been\s+)*\"?{spelled}{following}"
    return state.replace("_", " ")[:4] in clause and re.search(saying, clause) is not None


def deeds_of_no_call(text: str, facts: Facts) -> Iterator[tuple[str, str]]:
    """(verb, sentence) of what is said to have been done, by a verb that no call, reply or record knows."""
    for sentence in dict.fromkeys(sentences(text)):
        for said in statements(sentence) if not _QUESTION.search(sentence) and is_read(sentence) else ():
            for found in _CAME_TO_PASS.finditer(said.text) if said.is_stated else ():
                verb = stem(found["verb"])
                if verb in SIDE_DEEDS and not facts.deeds.knows(verb):
                    yield found["verb"], sentence
