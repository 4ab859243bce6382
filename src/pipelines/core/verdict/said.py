"""What a sentence of an answer says, before anything is looked up: its clauses with their mentions, its sign,
whether it is stated or supposed, and which records it names."""

import re
from itertools import islice, zip_longest
from typing import NamedTuple

from pipelines.core.english.dates import Dated, Timed
from pipelines.core.english.idioms import plain_verbs
from pipelines.core.english.mentions import MARK, mentions, without_mentions
from pipelines.core.english.numbers import Quantity
from pipelines.core.simulation.reading.words import word_set
from pipelines.core.verdict.facts import Facts
from pipelines.core.verdict.records import bare
from pipelines.core.verdict.speech import LONGEST_SENTENCE, clauses

LONGEST_NAME = 4  # words of a name that a sentence calls a thing by
QUESTION = re.compile(r"\?[\"')\]]*$")
NEGATED = re.compile(
    r"\b(?:not|never|no(?!\s*[:,;!]|\.\s*#?\w*[-\d])|nor|neither|cannot|without|unable|fail(?:s|ed)?|none|nothing|nobody)\b|n't\b"
)
AHEAD = re.compile(r"\b(?:will|shall|going\s+to|shortly|soon|tomorrow|within|expect(?:ed)?|upcoming)\b|'ll\b")
_HEDGED = re.compile(
    r"\b(?:if|would|could|can|may|might|should|must|usually|normally|typically|always|about|around|roughly|up\s+to|at\s+least"
    r"|at\s+most|over|under|more\s+than|less\s+than|unless|each|every|per|for\s+the\s+next)\b"
)
_FOREIGN = word_set(
    "der das und ist nicht ein eine einen für mit auf von zu dem sie ich wir ihr ihre wurde noch sich bei im "
    "le la les des une est pas pour avec sur vous votre nous été du au et un que qui je ce "
    "el los las una está para con su por se ha sido del al usted y hay como muy ya"
)
_ENGLISH = word_set(
    "the a an is are was were be been has have had i you your it its we our of to for and or in on at with "
    "not that this as from by will can"
)


class Said(NamedTuple):
    """One clause of a sentence, with what stands behind its marks."""

    text: str  # in lower case, with MARK for each mention, in plain verbs
    sentence: str
    days: tuple[Dated, ...] = ()
    times: tuple[Timed, ...] = ()
    numbers: tuple[Quantity, ...] = ()
    leads: tuple[tuple[int, str], ...] = ()  # where each mention stands, and the words that lead up to it
    written: str = ""  # the clause as it stands in the sentence, with MARK for each mention

    @property
    def raw(self) -> str:
        """In lower case, with the mentions as they were written."""
        every: list[Dated | Timed | Quantity] = [*self.days, *self.times, *self.numbers]
        ends = {one.start: one.end for one in every}
        written = [self.sentence[start : ends[start]].lower() for start, _ in self.leads]
        pieces = self.written.split(MARK)
        return "".join(piece + mark for piece, mark in zip_longest(pieces, written, fillvalue=""))

    @property
    def is_stated(self) -> bool:
        """Meant to be so now: no supposition, offer, promise, rule or denial."""
        return is_stated(self.text) and NEGATED.search(self.text) is None


def is_read(sentence: str) -> bool:
    return len(sentence) <= LONGEST_SENTENCE


def statements(sentence: str) -> list[Said]:
    """The clauses of a sentence, each with its own numbers, days and times."""
    read = mentions(sentence)
    every: list[Dated | Timed | Quantity] = [*read.days, *read.times, *read.numbers]
    in_order = iter(sorted(every, key=lambda one: one.start))
    found = []
    for written in clauses(without_mentions(sentence)):
        own = [*islice(in_order, written.count(MARK))]
        clause = plain_verbs(written)
        found.append(
            Said(
                clause,
                sentence,
                tuple(one for one in own if isinstance(one, Dated)),
                tuple(one for one in own if isinstance(one, Timed)),
                tuple(one for one in own if isinstance(one, Quantity)),
                tuple((one.start, lead) for one, lead in zip(own, clause.split(MARK), strict=False)),
                written,
            )
        )
    return found


def is_foreign(sentence: str) -> bool:
    """German, French or Spanish, by its small words: the embedded judge reads English."""
    words = re.findall(r"[^\W\d_]+", sentence.lower())
    return sum(word in _FOREIGN for word in words) > max(1, sum(word in _ENGLISH for word in words))


def is_stated(sentence: str) -> bool:
    """No supposition, offer, promise or rule: what it says is meant to be so now."""
    return _HEDGED.search(sentence) is None and AHEAD.search(sentence) is None


def names_at(sentence: str, facts: Facts) -> list[tuple[int, frozenset[str]]]:
    """Where a sentence names records, by an id or by a name of several words, and which."""
    found: list[tuple[int, frozenset[str]]] = []
    words = [(at.start(), bare(at[0].removesuffix("'s"))) for at in _NAME.finditer(sentence.lower())]
    subjects, starts = facts.subjects, facts.subject_starts
    for at, (start, word) in enumerate(words):
        if word[:2] in starts or len(word) < 2:
            name, here = "", frozenset[str]()
            for _, further in words[at : at + LONGEST_NAME]:
                name += further
                here |= subjects.get(name, frozenset())
            if here:
                found.append((start, here))
    return found


def named_in(sentence: str, facts: Facts) -> frozenset[str]:
    """The records a sentence names."""
    return frozenset(name for _, names in names_at(sentence, facts) for name in names)


def spoken_of(said: Said, start: int, focus: frozenset[str], facts: Facts) -> frozenset[str]:
    """The names of what a mention is said of: those between it and the mention before, where a sentence names
    several things; else those of the clause."""
    named = names_at(said.sentence, facts)
    if not named:
        return focus
    opened = said.sentence.rfind("(", 0, start)
    if opened > said.sentence.rfind(")", 0, start):  # `AS-12 (15 September, 07:20) or AS-13`
        within = [names for at, names in named if opened < at < start]
        before = [names for at, names in named if at < opened]
        return (within or before)[-1] if within or before else named_in(said.raw, facts)
    every = [one for one, _ in mentions(said.sentence).spans()]
    since = max((other for other in every if other < start), default=0)
    near = frozenset(name for at, names in named if since <= at <= start for name in names)
    own = named_in(said.raw, facts)
    return (near if len(named) > 1 else frozenset()) or own or named_in(said.sentence, facts)


_NAME = re.compile(r"[\w#@.\-/']+")
_PRESENT = re.compile(r"\b(?:is|are|it's|that's|you're|now|currently|still|remains?|stays?)\b")
_PAST = re.compile(
    r"\b(?:was|were|had|before|previous(?:ly)?|originally|from|instead|old|used\s+to|formerly|until|no\s+longer)\b"
)
_IS = (
    r"\b(?:is|are|was|were|been|(?<!to\s)be|it's|that's|he's|she's|has|have|had|status|now|still|currently|already"
    r"|marked\s+as)\s*:?"
)


def says_present(clause: str) -> bool:
    return _PRESENT.search(clause) is not None and _PAST.search(clause) is None


_FOLLOWING = (
    "with|and|now|again|since|as|from|on|in|at|by|to|already|yet|this|today|yesterday|last|for|because|but|so"
    "|until|before|out|off|back|up"
)


def says_is(clause: str, state: str) -> bool:
    """`is now frozen`, `has already shipped`: a state word where something is said to be so."""
    spelled = re.escape(state).replace("_", r"[\s_-]")
    following = rf"(?=\W*$|\s+(?:{_FOLLOWING})\b|[,;:.(])"
    saying = rf"{_IS}\s+(?:\w+ly\s+|now\s+|already\s+|been\s+|both\s+|all\s+)*\"?{spelled}{following}"
    return state.replace("_", " ")[:4] in clause and re.search(saying, clause) is not None
