"""Behaviour text into rules: sentence by sentence, each understood whole or reported as it stands."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pipelines.core.english.words import word_set
from pipelines.core.ledger import World
from pipelines.core.ledger_schema import LedgerSchema
from pipelines.core.seed_limits import LONGEST_BEHAVIOR
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.lexicon import Lexicon, build_lexicon
from pipelines.core.simulation.behavior.parts.read_parts import readings_by_parts
from pipelines.core.simulation.behavior.reader.read_sentence import readings
from pipelines.core.simulation.behavior.reader.vocabulary import Vocabulary
from pipelines.core.simulation.behavior.resolve import answer_of, resolve
from pipelines.core.simulation.behavior.rules import (
    Behavior,
    Nothing,
    Put,
    Require,
    Resolved,
    Rule,
    RuleKind,
)
from pipelines.core.simulation.behavior.scope import Scope, Unresolved
from pipelines.core.simulation.behavior.things import ToolLike, ToolWords
from pipelines.core.simulation.behavior.tokens import Token, sentences, tokens

BY_PARTS = "taken by what each of its words stands for, not by their order: {}"
MAX_SENTENCES = 400
LONGEST_SENTENCE = 2_000  # characters: 120 tokens have less, and patterns look through each several times
MAX_TOKENS = 120  # per sentence: past that it is not a rule but an essay

# In parentheses these change what a rule says; anything else there only explains it.
_MATTERS = word_set(
    "if when unless only except not never no but or otherwise must may can cannot always excluding "
    "including and until after before without plus minus each per inclusive exclusive"
)
_PREFIX = re.compile(
    r"^(?:(?:important|business\s+)?(?:note|rule|policy)s?(?:\s*#?\d+)?\s*:\s*|note\s+that\s+)", re.IGNORECASE
)
# Why a rule exists changes nothing about it.
_REASON = re.compile(
    r"(?<!\s)(?:\s*+,)?+\s++(?:because\s+[^,;.]*|due to\s+[^,;.]*|so that\s+[^,;.]*"
    r"|(?:even\s+)?(?:though|although)\s+(?:they|it|he|she)(?:'re|\s+are|\s+may|\s+can|\s+is)\s+[^,;.]*"
    r"|(?:as\s+)?(?:per|according to)\s+[\w\s]*\b(?:policy|policies|rules|terms))$",
    re.IGNORECASE,
)
# "and you should check it first": what the agent is advised to do at the end of a rule of the backend.
_ADVICE = re.compile(
    r"(?:,|;|\s)\s{0,2}(?:and|so)\s+(?:please\s+|(?:you|the\s+agent|agents|the\s+assistant)\s+"
    r"(?:should|must|shall|ought\s+to|need\s+to|have\s+to|has\s+to)\s+(?!be\b|have\b))(?P<what>[^,;.]+)$",
    re.IGNORECASE,
)
_ADDRESSED = word_set("you your please assistant chatbot")


def read_behavior(
    text: str,
    *,
    tools: Sequence[ToolLike],
    world: World,
    ledger_schema: LedgerSchema | None = None,
    may_read: Callable[[], bool] = lambda: True,
    known: Vocabulary | None = None,
) -> Behavior:
    """The rules a text states for these tools over this world, and the sentences that could not be taken
    as one. Nothing further is read once `may_read` says no.
    """
    size = len(text.encode())
    if size > LONGEST_BEHAVIOR:  # stored before there was a limit
        told = (
            f"the behaviour text has {size:,} bytes; at most {LONGEST_BEHAVIOR:,} are read, so none of it is"
        )
        return Behavior(not_understood=(told,), not_read=(told,))
    vocabulary = known or Vocabulary(lexicon=build_lexicon(tools, world, ledger_schema), tools=tools)
    reader = _Reader(lexicon=vocabulary.lexicon, vocabulary=vocabulary)
    written = sentences(text)
    not_read: tuple[str, ...] = ()
    for number, sentence in enumerate(written):
        if number == MAX_SENTENCES or not may_read():
            told = f"{written[number][:200]} (from here on {len(written) - number} sentences were not read)"
            reader.not_understood.append(told)
            not_read = tuple(written[number:])
            break
        reader.read(sentence)
    told_of = tuple(reader.not_understood)
    return Behavior(rules=tuple(reader.rules), not_understood=told_of, not_read=not_read)


def read_of_tool(sentence: str, tool: str, vocabulary: Vocabulary) -> tuple[Rule, ...]:
    """The rules of one sentence that was said of a tool; none where it is not understood."""
    reader = _Reader(lexicon=vocabulary.lexicon, vocabulary=vocabulary, spoken_of=(tool,))
    reader.read(sentence)
    return tuple(reader.rules)


def is_addressed(sentence: str, lexicon: Lexicon) -> bool:
    """Whether it tells the agent what to do."""
    return _is_addressed(tokens(sentence), lexicon)


class _Before(NamedTuple):
    """The sentence before, and where its rules begin."""

    sentence: str
    start: int
    is_understood: bool


@dataclass(kw_only=True, slots=True)
class _Reader:
    lexicon: Lexicon
    vocabulary: Vocabulary
    rules: list[Rule] = field(default_factory=list)
    not_understood: list[str] = field(default_factory=list)
    spoken_of: tuple[str, ...] = ()  # the tools of the sentence before: what `it` means
    before: _Before | None = None
    last_guards: tuple[int, ...] = ()  # rules of the sentence before that an `Otherwise …` completes

    def read(self, sentence: str) -> None:
        start = len(self.rules)
        if self._is_taken(sentence):
            self.before = _Before(sentence, start, is_understood=True)
            return
        if self._goes_with_the_last(sentence):
            return
        self.not_understood.append(sentence)
        self.before = _Before(sentence, start, is_understood=False)
        self.last_guards = ()

    def _is_taken(self, sentence: str, is_joined: bool = False) -> bool:
        ways = self._ways(sentence, is_joined) if len(sentence) <= LONGEST_SENTENCE else ()
        return any(self._take(clauses, sentence, note) for clauses, note in ways)

    def _goes_with_the_last(self, sentence: str) -> bool:
        """Two sentences that say one rule: `Prepaid senders need credit. Contract senders are exempt.`"""
        if self.before is None:
            return False
        kept, before = self.rules[self.before.start :], self.before
        spoken, guards = self.spoken_of, self.last_guards
        del self.rules[before.start :]
        self.spoken_of = self.last_guards = ()
        if self._is_taken(f"{before.sentence.rstrip('.! ')}; {sentence[0].lower()}{sentence[1:]}", True):
            if not before.is_understood:
                self.not_understood.remove(before.sentence)
            self.before = None
            return True
        self.rules += kept
        self.spoken_of, self.last_guards = spoken, guards
        return False

    def _ways(self, sentence: str, is_joined: bool) -> Iterator[tuple[tuple[c.Clause, ...], str | None]]:
        """Each way to take it, with what the author should know about that way."""
        for heard in _hearings(sentence, self.lexicon):
            yield from ((one, None) for one in readings(heard, self.vocabulary, self._fits, self.spoken_of))
        whole = next(_hearings(sentence, self.lexicon), [])
        for heard in _hearings(sentence, self.lexicon):
            if len(heard) < len(whole) and any(token.low == "(" for token in whole):
                continue  # what stands in brackets is a statement like others
            found = readings_by_parts(heard, self.vocabulary, self._fits, self.spoken_of, is_joined)
            yield from ((one, BY_PARTS.format(sentence)) for one in found)

    def _fits(self, clause: c.Clause) -> bool:
        """Whether a clause means something for each of the tools it names."""
        for name in clause.who.names:
            scope = Scope(tool=self.lexicon.tools[name.lower()], lexicon=self.lexicon, reaches_far=True)
            try:
                resolve(clause, scope)
            except Unresolved:
                return False
        return True

    def _take(self, clauses: tuple[c.Clause, ...], sentence: str, note: str | None) -> bool:
        """Whether every clause means something for the tools it is about; then it is kept."""
        made: list[Rule] = []
        before = self.spoken_of
        clauses = _with_one_failure(clauses)
        for clause in clauses:
            if isinstance(clause, c.Aside):
                if not (made or self.last_guards):
                    return False
                continue
            if isinstance(clause, c.Otherwise):
                if not self._complete(clause, made, sentence):
                    return False
                continue
            found = self._about(clause, sentence, before, made)
            if not found:
                return False
            made += found
            before = tuple(dict.fromkeys(name for rule in found for name in rule.tools))
        if not made:
            return True
        start = len(self.rules)
        self.rules += [replace(rule, note=rule.note or note) for rule in made]
        self.spoken_of = before
        self.last_guards = tuple(start + at for at, rule in enumerate(made) if isinstance(rule.body, Require))
        return True

    def _about(
        self, clause: c.Clause, sentence: str, before: tuple[str, ...], made: list[Rule]
    ) -> list[Rule]:
        if isinstance(clause, c.Normal):
            everyone = tuple(tool.name for tool in self.lexicon.tools.values())
            return [Rule(sentence=sentence, tools=everyone, kind=RuleKind.NORMAL, body=Nothing())]
        names, must_hold = self._tools_of(clause, before)
        found: list[tuple[str, Resolved]] = []
        for name in names:
            scope = Scope(
                tool=self.lexicon.tools[name.lower()],
                lexicon=self.lexicon,
                computed=self._computed(name, made),
                reaches_far=clause.who.reaches_links,
            )
            try:
                made_here = resolve(clause, scope)
            except Unresolved:
                if must_hold:
                    return []
                continue
            found += [(name, one) for one in made_here]
        return _merged(found, sentence)

    def _tools_of(self, clause: c.Clause, before: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
        """The tools meant, and whether the rule must make sense for each of them."""
        who = clause.who
        everyone = tuple(tool.name for tool in self.lexicon.tools.values())
        if who.names:
            return who.names, True
        if who.everyone and isinstance(clause, (c.Hide, c.Show, c.Mask, c.Cap, c.Order, c.Keep, c.First)):
            lists_only = isinstance(clause, (c.Cap, c.Order, c.Keep, c.First))
            readers = (tool for tool in self.lexicon.tools.values() if tool.reads)
            return tuple(tool.name for tool in readers if not (lists_only and self._looks_up(tool))), False
        if who.everyone:
            return everyone, False
        if not before and isinstance(clause, (c.Compute, c.Bound)):
            # "total = subtotal * 1.08" speaks of the data: whatever looks one such thing up shows it so.
            tools = self.lexicon.tools.values()
            return tuple(tool.name for tool in tools if tool.creates or self._looks_up(tool)), False
        return before, True

    def _looks_up(self, tool: ToolWords) -> bool:
        return tool.reads and tool.kind is not None and self.lexicon.id_argument(tool, tool.kind) is not None

    def _computed(self, tool: str, made: list[Rule]) -> frozenset[str]:
        return frozenset(
            rule.body.name
            for rule in [*self.rules, *made]
            if rule.covers(tool) and isinstance(rule.body, Put)
        )

    def _complete(self, clause: c.Otherwise, made: list[Rule], sentence: str) -> bool:
        """`Otherwise it returns a 409`: the answer of the rule before, in this sentence or the last."""
        mine = [at for at, rule in enumerate(made) if isinstance(rule.body, Require)]
        target = made if mine else self.rules
        places = mine or list(self.last_guards)
        for at in places:
            target[at] = _answering(target[at], clause.outcome)
        return bool(places)


def _with_one_failure(clauses: tuple[c.Clause, ...]) -> tuple[c.Clause, ...]:
    """What one clause of a sentence is answered with holds for those that do not say it."""
    said = [clause.outcome for clause in clauses if isinstance(clause, (c.Guard, c.Once, c.Rarely))]
    spoken = list(dict.fromkeys(one for one in said if isinstance(one, m.Fail) and one != m.Fail()))
    if len(spoken) != 1:
        return clauses
    return tuple(
        replace(clause, outcome=spoken[0])
        if isinstance(clause, (c.Guard, c.Once, c.Rarely)) and clause.outcome in (None, m.Fail())
        else clause
        for clause in clauses
    )


def _answering(rule: Rule, outcome: m.Outcome) -> Rule:
    body = rule.body
    assert isinstance(body, Require)
    return replace(rule, body=replace(body, answer=answer_of(outcome, rule.kind, body.need, body.about)))


def _merged(found: list[tuple[str, Resolved]], sentence: str) -> list[Rule]:
    """One rule for all tools for which it came out the same."""
    merged: dict[tuple[str, str], Rule] = {}
    for name, one in found:
        key = (repr(one.body), one.note or "")
        known = merged.get(key)
        tools = (
            (*known.tools, name) if known and name not in known.tools else known.tools if known else (name,)
        )
        merged[key] = Rule(sentence=sentence, tools=tools, kind=one.kind, body=one.body, note=one.note)
    return list(merged.values())


def _hearings(sentence: str, lexicon: Lexicon) -> Iterator[list[Token]]:
    """The sentence as it stands; then without what only explains it."""
    plain = _PREFIX.sub("", sentence.strip())
    forms = [plain]
    shorter = _REASON.sub("", plain.rstrip(".!"))
    forms += [shorter] if shorter != plain.rstrip(".!") else []
    advice = _ADVICE.search(plain.rstrip(".!"))
    if advice is not None and not any(_matters(one) for one in tokens(advice["what"])):
        forms = [plain[: advice.start()]]
    for form in forms:
        heard = tokens(form, (tool.name for tool in lexicon.tools.values()))
        if not heard or len(heard) > MAX_TOKENS or _is_addressed(heard, lexicon):
            return
        yield heard
        without = _without_asides(heard)
        if without != heard:
            yield without


def _is_addressed(heard: list[Token], lexicon: Lexicon) -> bool:
    """Words to the agent are no rules of the backend, unless agents are things the backend knows."""
    # "You can't refund …" tells what the backend does; "you should check …" what the agent does.
    lows = [token.low for token in heard] + ["", ""]
    told = {
        at
        for at, low in enumerate(lows)
        if low == "you" and _is_told(lows[at - 1] if at else "", lows[at + 1 :])
    }
    own = {at for at, low in enumerate(lows) if low == "your" and lows[at + 1] == "own"}
    spoken = {low for at, low in enumerate(lows) if at not in told | own}
    return bool(spoken & _ADDRESSED) or ("agent" in spoken and lexicon.kind_of("agent") is None)


def _is_told(before: str, following: Sequence[str]) -> bool:
    """Whether `you` is anybody who calls: what they may, what they get, what they have to be."""
    if before in ("gives", "get", "gets", "shows", "tells"):
        return True
    return following[0] in ("can", "may", "get") or (
        following[0] in ("must", "need") and following[1] in ("be", "have")
    )


def _matters(token: Token) -> bool:
    """Whether a word in parentheses changes what a rule says, or tells what it is answered with."""
    is_code = token.text.isupper() and len(token.text) > 3
    return token.low in _MATTERS or is_code or (token.number is not None and 400 <= token.number <= 599)


def _without_asides(heard: list[Token]) -> list[Token]:
    """Without parentheses that only explain: `(8% tax)`."""
    kept: list[Token] = []
    at = 0
    while at < len(heard):
        end = (
            next((to for to in range(at, len(heard)) if heard[to].low == ")"), None)
            if heard[at].low == "("
            else None
        )
        inside = heard[at + 1 : end] if end is not None else []
        if end is not None and 0 < len(inside) <= 10 and not any(map(_matters, inside)):
            at = end + 1
            continue
        kept.append(heard[at])
        at += 1
    return kept
