"""Sentences that change a world, read by the grammar of the published language: which records are meant and
what they are to be is said as in rules; only the lines around that are of this room.

Nothing else here knows what the parts of a parsed sentence are made of.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pipelines.core.english.words import singulars, tokens
from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.rules.language.english import GRAMMAR
from pipelines.core.simulation.rules.language.grammar import Find, Grammar, Match, Node, Parser, grammar_of
from pipelines.core.simulation.rules.language.meaning import Part
from pipelines.core.simulation.rules.language.nouns import Literal, role_of
from pipelines.core.simulation.rules.language.phrases import restriction
from pipelines.core.simulation.rules.language.read import MOST_READINGS, Reader, Reading, Stop
from pipelines.core.simulation.rules.language.report import explain_stop
from pipelines.core.simulation.rules.language.scope import CannotResolve, Choices, Scope
from pipelines.core.simulation.rules.language.text import Token
from pipelines.core.simulation.rules.language.text import tokens as tokens_of
from pipelines.core.simulation.rules.vocabulary import Kind, ToolNouns
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.types.world_outline import nouns_of, types_in

#: Lines that are not here (Things, Restriction, Test, Span …) are those of the language of rules.
CHANGES = grammar_of("""
Change: Please? (add | create | insert | generate) count=<number>? chosen=Chosen Given* -> adds
  | Please? (remove | delete | drop) how=How? chosen=Chosen cascade=Cascade? -> removes
  | Please? (make | turn | mark | let) how=How? chosen=Chosen (become=Become | Given) Given* -> makes
  | Please? (set | change | update) Field how=How? chosen=Chosen (to | "=") value=Quoted -> sets
  | Please? (clear | empty | unset) Field how=How? chosen=Chosen -> clears
  | Please? (spread | distribute) Field? chosen=Chosen (over | across) over=Over -> spreads
Field: The? field=<field> (of | for)
Please: please | also | and | now | then
How: count=<number> of? -> count | share=<percent> of? -> share | half of? -> half | most of? -> most
  | a? third of? -> third | a? quarter of? -> quarter
Cascade: and (everything | all | whatever) that refers to (it | them) -> cascade
Chosen: things=Things owner=Owner? -> chosen
  | Any? type=<type> ids+=<id> (Or ids+=<id>)* -> named
  | Any? type=<type> without Any? other=<type> -> unused
Owner: By who=Things -> of_such | By (The? (type=<type> | role=<role>))? id=<id> -> of_named
  | By The? non=Non? who=Such -> of_being | By The? role=<role> -> of_role
Non: non -> non
By: owned by | belonging to | belong to | of | for
Such: States -> is_so
Become: (be | become)? States -> is_so
  | have The? field=<field> of? test=Test -> has
  | Restriction
  | owner=Owner -> owned
Given: (with | have | and | "," | "," and) given+=Filling
Filling: The? field=<field> ("=" | of | is)? value=Quoted -> filling
Quoted: <text> -> said | <date> -> said | "-"? <number> -> said | <id> -> said | <state> -> said
  | <name> -> said | span=Span ago -> said
Over: Any? type=<type> -> over_type | (all | the | its)? (values | options) -> over_values
  | Any? field=<field> -> over_field | The? (last | past)? span=Span -> over_span
  | The? (last | past) unit=Unit -> over_span
""")


class WrittenValue(NamedTuple):
    """A value as it stands in the sentence."""

    text: str
    is_quoted: bool = False
    days_ago: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What a sentence asks for."""

    verb: str  # the label of its line
    kind: str
    test: Expr = m.TRUE  # of the records that are meant, or of those that are made
    ids: tuple[str, ...] = ()  # where they are named
    count: int | float | None = None
    share: float | None = None
    become: Expr | None = None
    given: tuple[tuple[str, WrittenValue], ...] = ()  # fields and what they get
    field: str | None = None  # that is cleared or spread
    over: tuple[str, str | float] | None = None  # its label, with the type, the field or the days
    cascade: bool = False


class NotRead(Exception):
    """Where reading stopped, and what could have stood there."""


_GRAMMAR = Grammar({**GRAMMAR.lines, **CHANGES.lines})
_SHARES = {"half": 0.5, "most": 0.75, "third": 1 / 3, "quarter": 0.25}
_DAYS = {"minutes": 1 / 1440, "hours": 1 / 24, "days": 1.0, "weeks": 7.0, "months": 30.44, "years": 365.25}
_MOST_TOKENS = 120  # of a sentence
_NO_TOOL = ToolNouns(
    name="the call", verb="", things=frozenset(), reads=False, arguments={}, required=frozenset(), output={}
)


class Language:
    """What sentences say of one world."""

    def __init__(self, ground: Ground) -> None:
        self.records: Mapping[str, Collection[str]] = types_in(ground.state)
        self.vocabulary = nouns_of(ground.outline, ground.survey)
        self._reader = Reader(self.vocabulary)

    def read(self, sentence: str) -> Change:
        found = tokens_of(sentence)
        if len(found) > _MOST_TOKENS:
            raise NotRead(f"a sentence has at most {_MOST_TOKENS} words: make several of it")
        known = self._reader.nouns.for_sentence(found)
        # A record gets values that its type is known to have: a new one stands in quotes.
        own: Mapping[str, Find] = {"id": _ids(sentence, self.records), "unknown": lambda tokens, at: ()}
        nouns = {**known, **own}
        failed: list[CannotResolve] = []
        changes: dict[Change, None] = {}
        for node in Parser(_GRAMMAR, found, nouns).whole("Change"):
            changes |= dict.fromkeys(_Resolving(self, sentence, found, failed).ways(node))
        # `add 3 orders with status pending` gives a value; it does not say which orders are meant.
        most = max((len(one.given) for one in changes), default=0)
        changes = {one: None for one in changes if len(one.given) == most}
        if len(changes) == 1:
            return next(iter(changes))
        if changes:
            tests = dict.fromkeys(str(one.become or one.test) for one in changes)
            raise NotRead("it can be read in two ways: " + " / ".join(f"“{test}”" for test in tests))
        if failed:
            raise NotRead(max(failed, key=lambda one: one.named.end if one.named is not None else -1).message)
        parser = Parser(_GRAMMAR, found, nouns, diagnose=True)
        parser.whole("Change")
        raise NotRead(self._stopped(sentence, found, parser))

    def _stopped(self, sentence: str, found: Sequence[Token], parser: Parser) -> str:
        at = min(parser.furthest, len(found) - 1)
        start, end = (found[at].start, found[at].end) if found else (0, 0)
        word = sentence[start:end]
        is_end = parser.furthest >= len(found)
        says = f"something is missing behind “{word}”" if is_end else f"reading stopped at “{word}”"
        stop = Stop(words=word, start=start, end=end, message=says, allowed=tuple(parser.wanted))
        return explain_stop(Reading(sentence=sentence, stop=stop), self._reader)


def _ids(sentence: str, records: Mapping[str, Collection[str]]) -> Find:
    """Ids as they are written, whatever their tokens: a word with a digit in it, or one that a record has."""

    def found(tokens: Sequence[Token], at: int) -> Sequence[Match]:
        start = tokens[at].start
        written = re.compile(r'"[^"]*"|[^\s,;"]+').match(sentence, start)
        id = written[0].strip('"“”').rstrip(".") if written else ""
        if not re.search(r"\d", id) and not any(id in known for known in records.values()):
            return ()
        ends = start + len(written[0] if written else "")
        end = next((place for place in range(at, len(tokens)) if tokens[place].start >= ends), len(tokens))
        return (Match(end, (), Literal(id, start, ends)),)

    return found


class _Resolving(NamedTuple):
    """One parsed sentence in the world."""

    language: Language
    sentence: str
    found: Sequence[Token]
    failed: list[CannotResolve]

    def ways(self, node: Node) -> Iterator[Change]:
        """Each way in which its nouns can be meant."""
        choices = Choices()
        for _ in range(MOST_READINGS):
            try:
                vocabulary = self.language.vocabulary
                yield self._change(node, Scope(vocabulary=vocabulary, tool=_NO_TOOL, choices=choices))
            except CannotResolve as error:
                self.failed.append(error)
            if not choices.next():
                return

    def _change(self, node: Node, scope: Scope) -> Change:
        part = Part(node)
        kind, test, ids = self._chosen(part.chosen, scope)
        inner = scope.about(kind.name)
        how: Part | None = part.how
        share = how.share.value / 100 if how is not None and how.share else None
        count = how.count if how is not None and how.count is not None else part.count
        pairs = [(each.field, each.value) for each in part.given or ()]
        if node.label == "sets":
            pairs.append((part.field, part.value))
        return Change(
            verb=node.label,
            kind=kind.name,
            test=test,
            ids=ids,
            count=count.value if count is not None else None,
            share=_SHARES.get(how.node.label, share) if how is not None else None,
            become=self._become(part.become, kind, inner) if part.become else None,
            given=tuple((_name(inner, field), self._said(value, inner)) for field, value in pairs),
            field=_name(inner, part.field) if part.field is not None else None,
            over=_over(part.over, inner) if part.over else None,
            cascade=part.cascade is not None,
        )

    def _chosen(self, part: Part, scope: Scope) -> tuple[Kind, Expr, tuple[str, ...]]:
        kind = scope.kind(part.things.type if part.things else part.type)
        if part.node.label == "named":
            return kind, m.TRUE, tuple(self._known(kind.name, str(one.value)) for one in part.ids)
        if part.node.label == "unused":
            return kind, _unused(kind, scope.kind(part.other)), ()
        inner = scope.about(kind.name)
        owned = self._owned(part.owner, kind, inner) if part.owner else None
        tests = (restriction(inner, part.things), owned)
        return kind, m.all_of(*(test for test in tests if test is not None)), ()

    def _known(self, kind: str, id: str) -> str:
        known = self.language.records.get(kind, ())
        if id not in known:
            noun = " ".join(singulars(tokens(kind)))
            raise CannotResolve(f"there is no {noun} {id}; for example {next(iter(known), 'none')}")
        return id

    def _become(self, part: Part, kind: Kind, scope: Scope) -> Expr:
        if part.node.label == "owned":
            return self._owned(part.owner, kind, scope)
        found: Expr = part(scope)
        return found

    def _owned(self, part: Part, kind: Kind, scope: Scope) -> Expr:
        """What a record of the type refers to."""
        kinds = self.language.vocabulary.kinds
        others = {to: kinds[to] for to in kind.links.values() if to in kinds and to != kind.name}
        if part.node.label == "of_such":
            other = scope.kind(part.who.type)
            if scope.about(other.name).states(part.who.type):
                raise CannotResolve(f"a {other.name} is {part.who.type.text} or not", part.who.type)
            link = _link(kind, other.name)
            return restriction(scope.about(other.name), part.who) or m.is_given(m.path(kind.name, *link))
        if part.node.label == "of_named":
            named = [scope.kind(part.type).name] if part.type is not None else [*others]
            links = [keys for keys in kind.links if part.role and role_of(keys[-1]) == part.role.words]
            named = [kind.links[keys] for keys in links] or named
            holding = [to for to in named if part.id.value in self.language.records.get(to, ())]
            to = (holding or named or [kind.name])[0]
            id = self._known(to, str(part.id.value))
            keys = links[0] if len(links) == 1 else _link(kind, to)
            return m.is_equal(m.path(kind.name, *keys), m.constant(id))
        if part.node.label == "of_role":
            return self._in_role(part.role, kind, scope)
        failed = CannotResolve(f"no {kind.name} refers to anybody")
        for other in others.values():
            try:
                keys = _link_as(kind, other.name, part.who)
                owner = scope.about(other.name, m.entity(other.name, m.path(kind.name, *keys)))
                found: Expr = part.who(owner)
                return found.negated() if part.non is not None else found
            except CannotResolve as error:
                failed = error
        raise failed

    def _in_role(self, role: Any, kind: Kind, scope: Scope) -> Expr:
        """Any `seller`, by the field that says who it is: where no record says of itself that it is one."""
        links = [keys for keys in kind.links if role_of(keys[-1]) == role.words]
        if len(links) != 1:
            raise CannotResolve(f"no field of {kind.name} says who its {role.text} is", role)
        if scope.about(kind.links[links[0]]).states(role):
            raise CannotResolve(f"a {kind.links[links[0]]} is {role.text} or not", role)
        return m.is_given(m.path(kind.name, *links[0]))

    def _said(self, part: Part, scope: Scope) -> WrittenValue:
        first, last = self.found[part.node.start], self.found[part.node.end - 1]
        is_quoted = first.kind == "text" or first.low == "\0text"
        span = part.span(scope) if part.span else None
        days = span.count * _DAYS[span.unit] if span is not None else None
        text = first.text if is_quoted else self.sentence[first.start : last.end]
        return WrittenValue(text, is_quoted, days)


def _name(scope: Scope, field: Any) -> str:
    path = n.path_of(scope.owned(field).expr)
    if path is None or len(path.keys) != 1:
        raise CannotResolve(f"`{field.text}` is inside another field: the whole of it cannot be set", field)
    return path.keys[0]


def _link(kind: Kind, other: str) -> tuple[str, ...]:
    found = kind.link_to(other)
    if found is None:
        several = ", ".join(keys[-1] for keys, to in kind.links.items() if to == other)
        which = f"several fields of {kind.name} say which {other} ({several})" if several else ""
        raise CannotResolve(f"{which or f'no field of {kind.name} says which {other}'}: name the field")
    return found


def _link_as(kind: Kind, other: str, who: Any) -> tuple[str, ...]:
    """The one field that refers to the other type; of several the one called as they are: seller_id."""
    links = [keys for keys, to in kind.links.items() if to == other]
    called = [keys for keys in links if any(role_of(keys[-1]) == each.words for each in who.states)]
    return called[0] if len(called) == 1 else _link(kind, other)


def _unused(kind: Kind, other: Kind) -> Expr:
    """No record of the other type refers to it."""
    refers = m.call("same_id", m.path("other", *_link(other, kind.name)), m.call("id_of", m.path(kind.name)))
    return m.call("any", m.each_of(refers, "other", m.entities(other.name))).negated()


def _over(part: Part, scope: Scope) -> tuple[str, str | float]:
    label = part.node.label
    if part.type is not None:
        return label, scope.kind(part.type).name
    if part.field is not None:
        return label, _name(scope, part.field)
    if part.span:
        span = part.span(scope)
        return label, float(span.count * _DAYS[span.unit])
    return label, _DAYS[part.unit(scope)] if part.unit else 0.0
