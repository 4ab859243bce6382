"""Parses sentences of the published language into rules, or reports where reading stopped.

If only one of two clauses can be read, that one is enforced, with a report. An ambiguous sentence is not
enforced: all its readings are shown.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, product
from typing import TypeAlias

from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.language.english import GRAMMAR
from pipelines.core.simulation.rules.language.grammar import Node, Parser
from pipelines.core.simulation.rules.language.meaning import Clause, Statement, meaning
from pipelines.core.simulation.rules.language.nouns import Nouns
from pipelines.core.simulation.rules.language.scope import CannotResolve, Choices, Scope
from pipelines.core.simulation.rules.language.text import (
    LONGEST_SENTENCE,
    Token,
    sentences,
    tokens,
    unreadable,
)
from pipelines.core.simulation.rules.rule import Origin, Rule
from pipelines.core.simulation.rules.vocabulary import Vocabulary

LONGEST_TEXT = 32_768  # bytes of a behaviour text
MOST_SENTENCES = 400
MOST_READINGS = 8
_ForTool: TypeAlias = tuple[str, tuple[r.Form, ...]]  # what a clause means for one tool
_CLAUSE_ENDS = frozenset(("and", ",", ";", "but"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """Where reading stopped: the words, why, and what could have stood there."""

    words: str
    start: int  # characters of the sentence
    end: int
    message: str
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What became of one sentence. With rules and a stop, only a part of it is read."""

    sentence: str
    rules: tuple[Rule, ...] = ()
    stop: Stop | None = None
    readings: tuple[tuple[Rule, ...], ...] = ()  # two or more where it can be read in several ways

    @property
    def is_read(self) -> bool:
        return self.stop is None


def sentences_in(text: str) -> list[str]:
    """The sentences of a text as they are read, each as written."""
    return [*_join_otherwise(sentences(text))]


class Reader:
    """Reads for one set of tools over one world."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.nouns = Nouns(vocabulary)

    def read_text(self, text: str, may_read: Callable[[], bool] = lambda: True) -> list[Reading]:
        """Sentence by sentence; nothing further once `may_read` says no."""
        if (size := len(text.encode())) > LONGEST_TEXT:
            says = f"the text has {size:,} bytes, over the limit of {LONGEST_TEXT:,}, so none of it is read"
            return [_stopped_reading(text[:200], says)]
        found: list[Reading] = []
        without_words = [text.strip()[:200]] if text.strip() else []
        for number, sentence in enumerate(sentences_in(text) or without_words):
            if number >= MOST_SENTENCES:
                found.append(
                    _stopped_reading(sentence, f"sentences past the {MOST_SENTENCES}th are not read")
                )
            elif not may_read():
                says = "reading takes too long, so this and the following sentences are not read"
                found.append(_stopped_reading(sentence, says))
            else:
                found.append(self.read(sentence))
        return found

    def read(self, sentence: str) -> Reading:
        found = self.tokens(sentence)
        if problem := unreadable(sentence, found):
            return _stopped_reading(sentence, problem)
        nodes = self.parser(found).whole("Sentence")
        readings, refused = self._readings(nodes, sentence, found)
        if len(readings) == 1:
            return Reading(sentence=sentence, rules=readings[0])
        if readings:
            stop = Stop(words=sentence, start=0, end=len(sentence), message="it can be read in two ways")
            return Reading(sentence=sentence, stop=stop, readings=tuple(readings))
        stop = _unresolved_stop(sentence, refused) if refused else self._stop(sentence, found)
        return self._in_part(sentence, found, stop) or Reading(sentence=sentence, stop=stop)

    def tokens(self, sentence: str) -> list[Token]:
        return tokens(sentence, self._hyphenated) if len(sentence) <= LONGEST_SENTENCE else []

    @cached_property
    def _hyphenated(self) -> list[str]:
        return [name for name in self.vocabulary.tools if "-" in name]

    def parser(self, found: Sequence[Token], *, diagnose: bool = False) -> Parser:
        return Parser(GRAMMAR, found, self.nouns.for_sentence(found), diagnose)

    # -- rules --------------------------------------------------------------------------------------------

    def _readings(
        self, nodes: Sequence[Node], sentence: str, found: Sequence[Token]
    ) -> tuple[list[tuple[Rule, ...]], list[CannotResolve]]:
        """Each different meaning of the parses, and why others mean nothing."""
        readings: dict[tuple[object, ...], tuple[Rule, ...]] = {}
        refused: list[CannotResolve] = []
        for node in nodes:
            try:
                for rules in self._rules(meaning(node, self.vocabulary), sentence, found):
                    readings.setdefault(tuple((rule.tools, rule.form) for rule in rules), rules)
            except CannotResolve as error:
                refused.append(error)
        return [*readings.values()], refused

    def _rules(
        self, statement: Statement, sentence: str, found: Sequence[Token]
    ) -> Iterator[tuple[Rule, ...]]:
        """Every way in which the statement can be meant."""
        ways = []
        for clause in statement.clauses:
            node = clause.part.node
            clause_text = sentence[found[node.start].start : found[node.end - 1].end]
            merged = [_merge(way, sentence, clause_text) for way in self._clause(statement, clause)]
            ways.append(merged)
        for way in islice(product(*ways), MOST_READINGS):
            yield tuple(rule for part in way for rule in part)

    def _clause(self, statement: Statement, clause: Clause) -> Iterator[tuple[_ForTool, ...]]:
        """Every way in which the clause can be meant for its tools."""
        by_tool: list[list[_ForTool]] = []
        failed: CannotResolve | None = None
        for name in statement.tools:
            scope = Scope(vocabulary=self.vocabulary, tool=self.vocabulary.tools[name])
            try:
                by_tool.append([(name, forms) for forms in _ways(clause, scope)])
            except CannotResolve as error:
                if statement.must_hold_for_all:
                    raise
                failed = error
        if not by_tool and failed is not None:
            raise failed
        return islice(product(*by_tool), MOST_READINGS)

    # -- what is not read ---------------------------------------------------------------------------------

    def _stop(self, sentence: str, found: Sequence[Token]) -> Stop:
        if self._is_foreign(found):
            says = (
                "most of its words are unknown: write rules in English, with the names of "
                "your tools and world"
            )
            return Stop(words=sentence, start=0, end=len(sentence), message=says)
        parser = self.parser(found, diagnose=True)
        parser.whole("Sentence")
        token = found[min(parser.furthest, len(found) - 1)]
        text = sentence[token.start : token.end]
        is_short = parser.furthest >= len(found)
        says = "the sentence is not complete here" if is_short else f"reading stopped at “{text}”"
        return Stop(words=text, start=token.start, end=token.end, message=says, allowed=tuple(parser.wanted))

    def _is_foreign(self, found: Sequence[Token]) -> bool:
        words = [at for at, token in enumerate(found) if token.kind == "word"]
        known = [at for at in words if found[at].low in GRAMMAR.words or self.nouns.knows(found, at)]
        is_unknown = len(words) >= 4 and len(known) * 4 < len(words)
        return is_unknown or (bool(words) and not any(found[at].text.isascii() for at in words))

    def _in_part(self, sentence: str, found: Sequence[Token], stop: Stop) -> Reading | None:
        """The clauses before one that cannot be read, or else those behind it, where these are a sentence by
        themselves."""
        for at in reversed(range(2, len(found))):
            if not self._begins_clause(found, at):
                continue
            end = at - 1
            while end > 1 and found[end - 1].low in _CLAUSE_ENDS:
                end -= 1
            if rules := self._rules_of(found[:end], sentence):
                return _read_in_part(sentence, rules, stop, found[at].start, found[-1].end)
        tools = max((one.end for one in self.parser(found).matches("Tools", 0)), default=0)
        for at in range(tools + 1, len(found)) if tools else ():
            if self._begins_clause(found, at) and (
                rules := self._rules_of([*found[:tools], *found[at:]], sentence)
            ):
                return _read_in_part(sentence, rules, stop, found[tools].start, found[at - 1].start)
        return None

    def _begins_clause(self, found: Sequence[Token], at: int) -> bool:
        begins = GRAMMAR.starts["Clause"] or frozenset()
        return found[at].low in begins and found[at - 1].low in _CLAUSE_ENDS

    def _rules_of(self, found: Sequence[Token], sentence: str) -> tuple[Rule, ...]:
        """What clauses of one sentence mean, where that is one thing."""
        nodes = [node for node in self.parser(found).whole("Sentence") if node.label == "of_tools"]
        readings, _ = self._readings(nodes, sentence, found)
        return readings[0] if len(readings) == 1 else ()


def _read_in_part(sentence: str, rules: tuple[Rule, ...], stop: Stop, start: int, end: int) -> Reading:
    """`start` and `end` are where the part stands that is not read."""
    is_inside = start <= stop.start and stop.end <= end
    rest = stop if is_inside else replace(stop, words=sentence[start:end].strip(), start=start, end=end)
    return Reading(sentence=sentence, rules=rules, stop=rest)


def _join_otherwise(listed: Sequence[str]) -> Iterator[str]:
    """`Otherwise it returns a 409.` belongs to the sentence before."""
    held = ""
    for sentence in listed:
        if held and sentence.lower().startswith("otherwise"):
            held = f"{held.rstrip('.! ')}; {sentence[0].lower()}{sentence[1:]}"
            continue
        if held:
            yield held
        held = sentence
    if held:
        yield held


def _ways(clause: Clause, scope: Scope) -> Iterator[tuple[r.Form, ...]]:
    """Each different meaning for one tool; a choice that means nothing is none."""
    choices, seen = Choices(), set()
    failed: CannotResolve | None = None
    for _ in range(MOST_READINGS):
        try:
            forms = tuple(clause.forms(replace(scope, choices=choices)))
            if forms not in seen:
                seen.add(forms)
                yield forms
        except CannotResolve as error:
            failed = error
        if not choices.next():
            break
    if not seen and failed is not None:
        raise failed


def _merge(way: Sequence[_ForTool], sentence: str, said: str) -> tuple[Rule, ...]:
    """One rule for all tools for which it came out the same."""
    tools: dict[r.Form, list[str]] = {}
    for name, forms in way:
        for form in forms:
            tools.setdefault(form, []).append(name)
    return tuple(
        Rule(tools=tuple(names), form=form, sentence=sentence, origin=Origin.SENTENCE, clause=said)
        for form, names in tools.items()
    )


def _unresolved_stop(sentence: str, refused: Sequence[CannotResolve]) -> Stop:
    """The refusal that knows its word; of several the one that came furthest."""
    best = max(refused, key=lambda one: one.named.end if one.named is not None else -1)
    if best.named is None:
        return Stop(words=sentence, start=0, end=len(sentence), message=best.message)
    start, end = best.named.start, best.named.end
    return Stop(words=sentence[start:end], start=start, end=end, message=best.message)


def _stopped_reading(sentence: str, message: str) -> Reading:
    stop = Stop(words=sentence[:80], start=0, end=len(sentence), message=message)
    return Reading(sentence=sentence, stop=stop)
