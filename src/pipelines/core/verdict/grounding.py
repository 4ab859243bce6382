"""Everything an answer says, looked up: what is not in the log, and not excused, is left for a person.

sentence -> clauses -> is it a statement at all; its numbers, days, ids and states; the words that are left.
A statement is borne out by the records of the things it speaks of, not by anything that happens to be known.
"""

import re
from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import NamedTuple

from pipelines.core.english.mentions import MARK, mentions, without_mentions
from pipelines.core.english.numbers import Quantity
from pipelines.core.simulation.reading.words import word_set
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.facts import Facts, Known, bare
from pipelines.core.verdict.speech import clauses, content_stems, sentences, stem
from pipelines.core.verdict.wording import listing

MOST_LEFT_OVER = 5
LONGEST_NAME = 4  # words of a name that a sentence calls a thing by
NEUTRAL = frozenset(
    stem(word)
    for word in word_set(
        # said around a fact, without adding one
        "done set all great good news happy glad pleased pleasure welcome hope hopefully morning "
        "evening afternoon day regards sincerely best kind kindly warm cheers appreciate patience "
        "understand understood understanding further question questions concern concerns hesitate "
        "reach contact here help support confirm confirmed confirmation detail details information "
        "info summary follow following follows below above successfully success fully properly "
        "quickly gladly actually indeed certainly absolutely course perfect wonderful nice enjoy wait "
        "moment look looked looking check checked checking review reviewed see found find show shows "
        "take taken care handle handled mention mentioned say says said tell told inform note aware "
        "remember everything nothing something anything account name new old previous original total "
        "amount date time today now way thing things item entry customer case ahead went gone put "
        "place placed came come back work works worked working requested record records file system "
        "list listed include included including regarding concerning about update updated change "
        "changed currently still two both either last next hear love delighted safe wish wishes "
        "lovely goes go comes make makes bring brings run runs remain remains left less than more top "
        "extra instead another also each per unit altogether together combined whole entire overall "
        "just exactly only right correct sorted booked yours mine stay stays start starts begin "
        "begins end ends due late early able want wanted wants latest quick short long recap result "
        "shown according page line lines number reference ref id mr mrs ms dr sir madam team yes "
        "stand stands stood sit sits sitting keep keeps kept let lets seem seems appear appears "
        "become became feel feels think believe know knows guess suppose mean means matter happen "
        "happened occur occurred turn turns finish finished continue give gives spoke speak talk "
        "answer answered ask reply worry worries mind like prefer try tried manage managed deal sort "
        "sound sounds watch read point compare compared double triple cost costs equal equals add "
        "adds sum count counts differ match matches fit belong depend depends relate hold holds spend "
        "spending far ago present presently down up off away around again apart aside precisely "
        "simply merely nearly almost quite rather pretty fairly totally completely entirely straight "
        "directly immediately instantly promptly smoothly safely annoying frustrating unfortunate "
        "inconvenient inconvenience sad bad fine big small high low own same different various "
        "several few clear clearly easy simple bit lot part side fact issue problem trouble reason "
        "week month year hour minute person people guy folks money price figure figures oh ah well "
        "okay hey though anyway meanwhile finally lastly previously formerly originally earlier later "
        "afterwards beforehand thereby thus hence therefore since because namely respectively hand "
        "heads worth effect meantime shall thought thoughts idea peace heart rest assured thanks bye "
        "goodbye fresh full spare busy lucky luck congratulations sense wise otherwise regard "
        "whatever whenever anytime"
    )
)
_QUESTION = re.compile(r"\?[\"')\]]*$")
# Words of one who offers, asks or supposes: they state nothing about the backend.
_OFFERS = re.compile(
    r"^(?:and\s+|or\s+|but\s+|so\s+)?(?:if|in\s+case|should\s+you|would\s+you|do\s+you|shall\s+i|may\s+i|can\s+i|could\s+you"
    r"|can\s+you|let\s+me\s+know|feel\s+free|don't\s+hesitate|please(?!\s+(?:note|be\s+aware|remember|know|see))"
    r"|(?:i|we)(?:'d|\s+would|\s+can|\s+could|'m\s+happy\s+to|\s+am\s+happy\s+to|\s+hope|'m\s+here|\s+am\s+here)\b(?!\s*not|n't))\b"
)
# What the user told is taken up: "glad to hear it has cleared up".
_FEELS = re.compile(r"\b(?:glad|happy|great|good|nice|lovely|sorry|sad)\s+to\s+hear\b")
NEGATED = re.compile(
    r"\b(?:not|never|no|nor|neither|cannot|without|unable|fail(?:s|ed)?|none|nothing)\b|n't\b"
)
_AHEAD = re.compile(
    r"\b(?:will|shall|going\s+to|shortly|soon|tomorrow|within|expect(?:ed)?|upcoming)\b|'ll\b"
)
_QUOTES_USER = re.compile(
    r"\b(?:you(?:'ve|\s+have)?\s+(?:asked|mentioned|said|gave|provided|wanted|requested)|your\s+(?:request|message))\b"
)
_HEDGED = re.compile(
    r"\b(?:if|would|could|can|may|might|should|must|usually|normally|typically|always|about|around|roughly|up\s+to|at\s+least"
    r"|at\s+most|over|under|more\s+than|less\s+than|until|unless|please)\b"
)
_WAS = re.compile(
    r"\b(?:was|were|had|before|previous(?:ly)?|originally|formerly|from|instead|old|used\s+to|down|up)\b|→|->"
)
_DONE_TO_IT = re.compile(
    r"\b(?:been|was|were|is|are|has|have|got|get)\s+(?:(?:now|also|already|just|all|fully|\w+ly)\s+){0,3}"
    r"(?P<verb>[a-z]{3,20}ed|put|sent|paid|made|given|taken|sold|written|sent|cut|set|held|kept|lost|won|left|gone)\b"
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
    instead: str = ""  # what the run says in its place: then it is not only strange, but false


def left_over(evidence: RunEvidence, facts: Facts, verified: Collection[str] = ()) -> list[LeftOver]:
    """What remains of the answers when all that can be looked up is taken away; `verified` are clauses that
    were borne out elsewhere, of which only the rest is looked at."""
    found: dict[tuple[str, frozenset[str]], tuple[LeftOver, ...]] = {}  # what is repeated is read once
    verified = {without_mentions(clause) for clause in verified}
    named: dict[str, frozenset[str]] = {}
    for text in evidence.responses:
        focus = _named(evidence.user_instruction, facts)
        for sentence in sentences(text):
            evidence.keep_going()
            if sentence not in named:
                named[sentence] = _named(sentence, facts)
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
    known = facts.about(focus) if focus else facts.everything
    strange = [*_strange_mentions(sentence, known, facts)]
    unclear = [
        clause
        for clause in clauses(without_mentions(sentence))
        if not _is_excused(clause) and not _is_borne_out(clause, known, facts, clause in verified)
    ]
    is_plain = not unclear and is_stated(sentence.lower())
    for phrase, instead in strange:
        yield LeftOver(phrase, sentence, instead if is_plain else "")
    if not strange and not facts.is_refusal:  # why a refusal was made is judged with the refusal
        yield from (LeftOver(clause.replace(MARK, "…"), sentence) for clause in unclear)


def is_foreign(sentence: str) -> bool:
    """German, French or Spanish, by its small words: the embedded judge reads English."""
    words = re.findall(r"[^\W\d_]+", sentence.lower())
    return sum(word in _FOREIGN for word in words) > max(1, sum(word in _ENGLISH for word in words))


def is_stated(sentence: str) -> bool:
    """No supposition, offer, promise or rule: what it says is meant to be so now."""
    return _HEDGED.search(sentence) is None and _AHEAD.search(sentence) is None


# What can be looked up as it stands


def _strange_mentions(sentence: str, known: Known, facts: Facts) -> Iterator[tuple[str, str]]:
    """Numbers, days, times and ids that the records do not hold, and what they hold instead."""
    of_before = _WAS.search(sentence.lower()) is not None
    named = Decimal(len(_named(sentence, facts)))
    is_quoted = _QUOTES_USER.search(sentence.lower()) or NEGATED.search(sentence.lower())
    asked = facts.asked if is_quoted else Known()
    read = mentions(sentence)
    for day in read.days:
        if not known.has_day(day.days) and not asked.has_day(day.days):
            yield sentence[day.start : day.end], "another day" if known.days else ""
    for time in read.times:
        if not time.minutes & (known.times | asked.times):
            yield sentence[time.start : time.end], "another time" if known.times else ""
    for number in read.numbers:
        written = sentence[number.start : number.end]
        is_told = asked.has_number(number) or bare(written) in facts.names or number.values == {named}
        if written.lower() != "one" and not is_told:
            old = (
                frozenset()
                if of_before or not number.unit
                else facts.outdated.get(stem(number.unit), frozenset())
            )
            yield from _strange_number(number, written, known, old)
    for token in references(sentence):
        if not _is_id(token, facts):
            yield token, ""


def _strange_number(
    number: Quantity, written: str, known: Known, old: frozenset[Decimal]
) -> Iterator[tuple[str, str]]:
    """`old` is what it was before the run changed it."""
    told = (known.fields.get(stem(number.unit)) if number.unit else None) or set()
    now = told - old
    if told and not number.values & now:
        shown = listing([format(value, "f") for value in sorted(now)])
        yield f"{written} {number.unit}", f"{number.unit}: {shown}"
    elif not known.has_number(number):
        yield written, "another amount" if number.currency and known.numbers else ""


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


def _named(sentence: str, facts: Facts) -> frozenset[str]:
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
    return _OFFERS.search(clause) is not None or _FEELS.search(clause) is not None


def _is_borne_out(clause: str, known: Known, facts: Facts, is_verified: bool) -> bool:
    words = {word for word in content_stems(clause) - NEUTRAL if not any(map(str.isdigit, word))}
    words -= {stem(day) for day in known.weekdays}
    # What was done to a thing is never said by the way.
    words |= {stem(found["verb"]) for found in _DONE_TO_IT.finditer(clause)} - _NOTHING_DONE
    if not words:
        return True
    if any(stem(word) in words for word in _VAGUE):
        return False
    if is_verified:
        return words <= known.stems | CARRIED_OUT
    if NEGATED.search(clause) or _AHEAD.search(clause):
        return any(words <= said for said in facts.sayings)
    return words <= known.stems
