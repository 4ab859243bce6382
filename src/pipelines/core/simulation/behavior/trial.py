"""Each rule tried on the seeded world: what found no place there, or refuses everything, is reported and not
applied, and what changes nothing there is told.

A rule that refuses every entity was most likely not read as it was meant: a call is refused by what is sure.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise, product
from typing import Any, NamedTuple

from pipelines.core.english.inflection import past_forms
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import Ledger, World
from pipelines.core.problems import Refused
from pipelines.core.simulation.behavior import rules as r
from pipelines.core.simulation.behavior.lexicon import Lexicon
from pipelines.core.simulation.behavior.plan_targets import Setting
from pipelines.core.simulation.behavior.rules import ARGUMENTS, EACH, REPLY, Behavior, Ref, Rule, Text
from pipelines.core.simulation.behavior.scope import link_field
from pipelines.core.simulation.behavior.things import Kind, Path, ToolWords, has_value
from pipelines.core.simulation.behavior.trial_samples import (
    MOST_TRIED,
    calls_with,
    constant_of,
    hints_of,
    moments_around,
    worlds_after,
)
from pipelines.core.simulation.language import Plan, parse_plan
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.simulation.run_plan import run
from pipelines.core.simulation.simulator import Moment, SimulationFailed

MOST_RUNS = 4_000  # of one rule: some tenths of a second, spent only where nothing made a difference so far
FEWEST = 2  # of one entity alone every rule says either yes or no
_ANY_DAY = "2000-01-01T00:00:00Z"  # for rules that do not look at the clock
_OF_TIME = re.compile(r"\b(?:now|today|days_between|is_before|add_months|add_days)\b")


class Tried(NamedTuple):
    behavior: Behavior  # with the rules that have a place
    without_effect: tuple[str, ...]  # sentences that change nothing in this world


class _Misplaced(Exception):
    """This world has no place for the rule, for the reason given."""


def tried(behavior: Behavior, lexicon: Lexicon, world: World, settings: Sequence[Setting] = ()) -> Tried:
    """`settings`: what calls of the tools set fields to, so that a record may have it though none has now."""
    kept: list[Rule] = []
    misplaced: dict[str, str] = {}
    idle: dict[str, str] = {}
    for rule in behavior.rules:
        tool = lexicon.tools[rule.tools[0].lower()]
        own = tuple(_settings_of(one for one in behavior.rules if one.sentence != rule.sentence))
        implied = tuple(_settings_of(one for one in behavior.rules if one.sentence == rule.sentence))
        trial = _Trial(rule, tool, lexicon, world, (*settings, *own), implied)
        try:
            trial.find_places(behavior.rules)
            told = trial.difference()
        except _Misplaced as why:
            misplaced.setdefault(rule.sentence, str(why))
            continue
        kept.append(rule)
        if told is not None:
            idle.setdefault(rule.sentence, told)
    # A sentence is enforced whole or not at all.
    whole = tuple(rule for rule in kept if rule.sentence not in misplaced)
    reported = tuple(f"{sentence} ({why})" for sentence, why in misplaced.items())
    found = replace(behavior, rules=whole, not_understood=(*behavior.not_understood, *reported))
    changes_nothing = (f"{one} ({why})" for one, why in idle.items() if one not in misplaced)
    return Tried(found, tuple(changes_nothing))


class _Trial(NamedTuple):
    rule: Rule
    tool: ToolWords
    lexicon: Lexicon
    world: World
    settings: tuple[Setting, ...]  # by the tools and by other sentences
    own_settings: tuple[Setting, ...]  # by this sentence

    # -- no place

    def find_places(self, rules: Sequence[Rule]) -> None:
        for one in _texts(self.rule.body):
            if one.lacks_caller:
                says = f"nothing that {self.tool.name} is given, and no session in the world, says who calls"
                raise _Misplaced(says)
            for ref in one.refs():
                self._find_field(ref, rules)
            if self._is_not_tried(one):
                self._find_states(one, rules)
        if isinstance(self.rule.body, r.Put):
            self._find_inputs(self.rule.body)

    def _find_field(self, ref: Ref, rules: Sequence[Rule]) -> None:
        kind = self.lexicon.kinds.get((self.tool.kind or "") if ref.root == EACH else ref.root)
        if kind is None or not kind.fields or not ref.path or ref.path == ("id",):
            return
        known = {path[0] for path in kind.fields} | {
            rule.body.target.path[0]
            for rule in rules
            if isinstance(rule.body, r.Write) and rule.body.target.root == kind.name
        }
        tools = self.lexicon.tools.values()
        if ref.path[0] not in known and not any(
            ref.path[0] in one.arguments for one in tools if not one.reads
        ):
            raise _Misplaced(f"no {kind.name} of the world has {ref.path[0]}")

    def _is_not_tried(self, one: Text) -> bool:
        """What comes of the arguments or of the clock cannot be seen on the seeded world."""
        return bool({ARGUMENTS, REPLY} & one.roots()) or _looks_at_clock(one)

    def _find_states(self, one: Text, rules: Sequence[Rule]) -> None:
        """A word that was taken for a state has to be one that some record has or some tool brings about:
        of a rule that cannot be tried nobody would notice that it never holds.
        """
        for ref, following in pairwise(one.parts):
            kind = self.lexicon.kinds.get(ref.root) if isinstance(ref, Ref) else None
            if (
                not isinstance(ref, Ref)
                or kind is None
                or ref.path != kind.status
                or not isinstance(following, str)
            ):
                continue
            for value in (
                re.findall(r"'([^']*)'", following) if following.startswith((" == ", " in [")) else ()
            ):
                if not self._is_state(kind, value, rules):
                    raise _Misplaced(f"no {kind.name} of the world is {value}, and no tool makes it so")

    def _is_state(self, kind: Kind, value: str, rules: Sequence[Rule]) -> bool:
        if kind.status is None or has_value(kind.fields.get(kind.status), value):
            return True
        written = (
            rule.body
            for rule in rules
            if isinstance(rule.body, r.Write) and rule.body.target.root == kind.name
        )
        if any(value in "".join(map(str, body.value.parts)) for body in written if body.value is not None):
            return True
        tools = [tool for tool in self.lexicon.tools.values() if kind.name in (tool.kind, tool.makes)]
        return any(
            value in tool.choices(kind.status[-1])
            or value in tool.described
            or value in past_forms(tool.verb)
            for tool in tools
        )

    def _find_inputs(self, body: r.Put) -> None:
        """What a formula is worked out from has to be there in some record."""
        for ref in body.value.refs():
            of_kind = self._values(ref.root, ref.path) if ref.path != ("id",) else []
            if len(of_kind) >= FEWEST and all(value is None for value in of_kind):
                raise _Misplaced(f"no {ref.root} of the world has what {body.name} is worked out from")

    # -- no difference

    def difference(self) -> str | None:
        """Why the rule changes nothing here; Misplaced where it would let nothing through."""
        match self.rule.body:
            case r.Require(need, at_end=False):
                return self._decided_guard(need)
            case r.Filter(keep):
                every = self._decided(self.tool.kind, keep)
                out = None if every is None else "no" if every else "every"
                return f"it leaves {out} {self.tool.kind} of the world out" if out else None
            case r.SortFirst(keep):
                every = self._decided(self.tool.kind, keep)
                first = None if every is None else "every" if every else "no"
                return f"{first} {self.tool.kind} of the world comes first" if first else None
            case r.Take(most, page=False, unless=None):
                count = len(self.world.entities.get(self.tool.kind or "", {}))
                return f"the world has no more than {count}" if FEWEST <= count <= most else None
            case r.Sort(str(by)):
                return self._unsorted(self.tool.kind or "", by)
            case r.Write(when=None, is_implied=False, of_new=False):
                return self._already_so(self.rule.body)
            case r.Write(when=Text() as when):
                kind = _kind_of(when, self.tool, self.lexicon)
                return f"no {kind} of the world is meant" if self._decided(kind, when) is False else None
        return None

    def _decided_guard(self, need: Text) -> str | None:
        kind = _kind_of(need, self.tool, self.lexicon)
        given = dict.fromkeys(ref.path[-1] for ref in need.refs() if ref.root == ARGUMENTS and ref.path)
        what = f"{kind} of the world" if kind is not None else f"value of {' and '.join(given)}"
        what += f" with any {' and '.join(given)}" if kind is not None and given else ""
        passes = self._decided(kind, need)
        if passes is None:
            return None
        told = f"{'every' if passes else 'no'} {what} passes"
        if self._grows(need) or (self.settings and self._differs_later(kind, need)):
            return f"{told} as it is seeded, until a call changes that"
        if not passes:
            raise _Misplaced(told)
        return told

    def _differs_later(self, kind: str | None, need: Text) -> bool:
        later = self._replace(own_settings=(*self.settings, *self.own_settings))
        return len({*islice(later._outcomes(kind, need), MOST_RUNS)}) > 1

    def _already_so(self, body: r.Write) -> str | None:
        """An effect that writes what every record has, and that nothing takes away."""
        target = body.target
        if body.value is None or body.value.refs() or any(_is_of(one, target) for one in self.settings):
            return None
        try:
            value = constant_of("".join(str(part) for part in body.value.parts))
        except ValueError:
            return None
        have = self._values(target.root, target.path)
        if len(have) < FEWEST or any(one != value for one in have):
            return None
        return f"every {target.root} of the world has {'.'.join(target.path)} {value} already"

    def _unsorted(self, kind: str, by: str) -> str | None:
        values = self._values(kind, tuple(by.split(".")))
        if len(values) < FEWEST:
            return None
        if all(value is None for value in values):
            return f"no {kind} of the world has a {by}"
        if all(value == values[0] for value in values):
            return f"every {kind} of the world has the same {by}"
        moments = [moment_of(value) for value in values if isinstance(value, str)]
        if moments and None not in moments and any(m is not None and m.text not in values for m in moments):
            raise _Misplaced(f"dates as {by} writes them are not in order when they are sorted")
        return None

    def _decided(self, kind: str | None, one: Text) -> bool | None:
        """What comes of it for every record, call and moment; None where that differs or cannot be tried."""
        takes = ARGUMENTS in one.roots()
        if REPLY in one.roots() or (kind is None and not takes) or (takes and self._grows(one)):
            return None
        if kind is not None and len(self.world.entities.get(kind, {})) < FEWEST:
            return None
        found = [*islice(self._outcomes(kind, one), MOST_RUNS + 1)]
        if len({*found}) != 1 or len(found) > MOST_RUNS:
            return None
        return found[0]

    def _grows(self, one: Text) -> bool:
        """Whether it counts records of which calls make more, or fewer."""
        written = "".join(part for part in one.parts if isinstance(part, str))
        counted = {*re.findall(r"entities\('([^']*)'\)", written)}
        return any(
            not tool.reads and counted & {tool.kind, tool.makes} for tool in self.lexicon.tools.values()
        )

    def _outcomes(self, kind: str | None, one: Text) -> Iterator[bool]:
        """What comes of it for each record, call and moment; nothing where that cannot be gone through. It
        ends at the first that differs from the others."""
        names = _names(kind, one, self.lexicon)
        plan = _asked(kind, one, names) if names is not None else None
        hints = hints_of(one, self._seen(one), self._ids())
        is_dated = _looks_at_clock(one) or any(
            isinstance(part, str) and _OF_TIME.search(part) for part in one.parts
        )
        calls = calls_with(one, self.tool, hints, is_dated=is_dated)
        if plan is None or calls is None:
            return
        moments = [at.isoformat() for at in moments_around(hints)] if _looks_at_clock(one) else [_ANY_DAY]
        looked_at: dict[str, set[Path]] = {}
        for ref in one.refs():
            looked_at.setdefault(kind or "" if ref.root == EACH else ref.root, set()).add(ref.path)
        worlds = worlds_after(self.world, self.own_settings, looked_at, hints)
        ids = [*islice(self.world.entities.get(kind or "", {}), MOST_TRIED)] if kind is not None else [""]
        first: bool | None = None
        for ledger, given, now, id in product(worlds, calls, moments, ids):
            came = self._run(plan, {"id": id, "given": given}, ledger, now)
            if came is None:
                continue
            first = came if first is None else first
            yield came
            if came != first:
                return

    def _run(self, plan: Plan, arguments: JsonObject, ledger: Ledger, now: str) -> bool | None:
        try:
            return run(plan, arguments, ledger, Moment("", 1, now)).response is True
        except SimulationFailed as failed:
            if arguments["given"]:
                return None  # a value that we made up may be of the wrong kind
            why = re.sub(r" \(at [^)]*\)$", "", str(failed))
            kind = _kind_of(self._text(), self.tool, self.lexicon) or self.tool.kind
            raise _Misplaced(f"it cannot be worked out for every {kind} of the world: {why}") from None

    def _text(self) -> Text:
        return next(_texts(self.rule.body), Text(()))

    def _seen(self, one: Text) -> list[Any]:
        """Values of the fields that it looks at."""
        refs = ((self.tool.kind or "" if ref.root == EACH else ref.root, ref.path) for ref in one.refs())
        return [value for kind, path in refs for value in self._values(kind, path)]

    def _ids(self) -> list[str]:
        return [id for kind in self.world.entities.values() for id in islice(kind, MOST_TRIED)]

    def _values(self, kind: str, path: tuple[str, ...]) -> list[Any]:
        found = []
        for attributes in islice(self.world.entities.get(kind, {}).values(), MOST_TRIED):
            value: Any = attributes
            for key in path:
                value = value.get(key) if isinstance(value, dict) else None
            found.append(value)
        return found


def _texts(body: r.RuleBody) -> Iterator[Text]:
    """Expressions that decide something; what a call writes may be new."""
    for name in ("need", "keep", "when"):
        part = getattr(body, name, None)
        if isinstance(part, Text):
            yield part
    if isinstance(body, r.Put):
        yield body.value


def _looks_at_clock(one: Text) -> bool:
    return any(isinstance(part, str) and re.search(r"\b(?:now|today)\b", part) for part in one.parts)


def _kind_of(need: Text, tool: ToolWords, lexicon: Lexicon) -> str | None:
    kinds = [root for root in sorted(need.roots()) if root in lexicon.kinds]
    return kinds[0] if len(kinds) == 1 else tool.kind if tool.kind in kinds else None


def _asked(kind: str | None, one: Text, names: Mapping[str, str]) -> Plan | None:
    steps: list[Json] = []
    if kind is not None:
        steps.append({"let": {"it": f"entity({r.literal(kind)}, args.id)"}})
    steps.append({"return": f"true if {one.written(names)} else false"})
    try:
        return parse_plan(steps, origin="read")
    except Refused:
        return None


def _settings_of(rules: Iterable[Rule]) -> Iterator[Setting]:
    for rule in rules:
        body = rule.body
        if isinstance(body, r.Write) and body.value is not None and not body.value.refs():
            yield Setting(body.target.root, body.target.path, "".join(map(str, body.value.parts)))


def _is_of(setting: Setting, target: Ref) -> bool:
    return (setting.entity_type, setting.path) == (target.root, target.path)


def _names(kind: str | None, one: Text, lexicon: Lexicon) -> Mapping[str, str] | None:
    """How the trial calls what the rule speaks of: the entity, and what it is linked with."""
    names = {kind or "": "it", EACH: "it", ARGUMENTS: "args.given"}
    own = lexicon.kinds.get(kind or "")
    for other in one.roots() - set(names):
        link = link_field(own, other) if own is not None else None
        if link is None:
            return None
        names[other] = f"entity({r.literal(other)}, {r.dotted('it', (link,))})"
    return names
