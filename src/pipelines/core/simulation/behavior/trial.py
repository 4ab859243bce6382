"""Each rule tried on the seeded world: what found no place there, or refuses everything, is reported and not
applied, and what changes nothing there is told.

A rule that refuses every entity was most likely not read as it was meant: a call is refused by what is sure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

from pipelines.core.english.inflection import past_forms
from pipelines.core.json_text import Json
from pipelines.core.ledger import Ledger, World
from pipelines.core.problems import Refused
from pipelines.core.simulation.behavior import rules as r
from pipelines.core.simulation.behavior.lexicon import Lexicon
from pipelines.core.simulation.behavior.rules import ARGUMENTS, EACH, REPLY, Behavior, Ref, Rule, Text
from pipelines.core.simulation.behavior.scope import link_field
from pipelines.core.simulation.behavior.things import Kind, ToolWords, has_value
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.simulation.run_plan import run
from pipelines.core.simulation.simulator import Moment, SimulationFailed

MOST_TRIED = 50  # entities of a kind; more of them would hardly be more different
FEWEST = 2  # of one entity alone every rule says either yes or no
_ANY_DAY = Moment(
    "", 1, "2000-01-01T00:00:00Z"
)  # what comes of rules that look at the clock is not looked at


class Tried(NamedTuple):
    behavior: Behavior  # with the rules that have a place
    without_effect: tuple[str, ...]  # sentences that change nothing in this world


class _Misplaced(Exception):
    """This world has no place for the rule, for the reason given."""


def tried(behavior: Behavior, lexicon: Lexicon, world: World) -> Tried:
    kept: list[Rule] = []
    misplaced: dict[str, str] = {}
    idle: dict[str, str] = {}
    for rule in behavior.rules:
        trial = _Trial(rule, lexicon.tools[rule.tools[0].lower()], lexicon, world)
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
    found = Behavior(rules=whole, not_understood=(*behavior.not_understood, *reported))
    changes_nothing = (f"{one} ({why})" for one, why in idle.items() if one not in misplaced)
    return Tried(found, tuple(changes_nothing))


class _Trial(NamedTuple):
    rule: Rule
    tool: ToolWords
    lexicon: Lexicon
    world: World

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
                kind = _kind_of(need, self.tool, self.lexicon)
                says = ("every {} of the world passes", "no {} of the world passes")
                found = self._decided(kind, need, says)
                if found == says[1].format(kind):
                    raise _Misplaced(found)
                return found
            case r.Filter(keep):
                says = ("it leaves no {} of the world out", "it leaves every {} of the world out")
                return self._decided(self.tool.kind, keep, says)
            case r.Take(most, page=False, unless=None):
                count = len(self.world.entities.get(self.tool.kind or "", {}))
                return f"the world has no more than {count}" if FEWEST <= count <= most else None
            case r.Sort(str(by)):
                return self._unsorted(self.tool.kind or "", by)
        return None

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

    def _decided(self, kind: str | None, one: Text, says: tuple[str, str]) -> str | None:
        if kind is None or {ARGUMENTS, REPLY} & one.roots():
            return None
        found = self._outcomes(kind, one)
        if len(found) < FEWEST or len(set(found)) > 1 or _looks_at_clock(one):
            return None
        return says[0 if found[0] else 1].format(kind)

    def _outcomes(self, kind: str, one: Text) -> list[bool]:
        names = _names(kind, one, self.lexicon)
        if names is None:
            return []
        steps: list[Json] = [{"let": {"it": f"entity({r.literal(kind)}, args.id)"}}]
        steps.append({"return": f"true if {one.written(names)} else false"})
        try:
            plan = parse_plan(steps, origin="read")
        except Refused:
            return []
        ids = islice(self.world.entities.get(kind, {}), MOST_TRIED)
        try:
            return [run(plan, {"id": id}, Ledger(self.world), _ANY_DAY).response is True for id in ids]
        except SimulationFailed as failed:
            why = re.sub(r" \(at [^)]*\)$", "", str(failed))
            raise _Misplaced(f"it cannot be worked out for every {kind} of the world: {why}") from None

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
    return any(isinstance(part, str) and re.search(r"\bnow\b", part) for part in one.parts)


def _kind_of(need: Text, tool: ToolWords, lexicon: Lexicon) -> str | None:
    kinds = [root for root in sorted(need.roots()) if root in lexicon.kinds]
    return kinds[0] if len(kinds) == 1 else tool.kind if tool.kind in kinds else None


def _names(kind: str, one: Text, lexicon: Lexicon) -> Mapping[str, str] | None:
    """How the trial calls what the rule speaks of: the entity, and what it is linked with."""
    names = {kind: "it", EACH: "it"}
    own = lexicon.kinds.get(kind)
    for other in one.roots() - set(names):
        link = link_field(own, other) if own is not None else None
        if link is None:
            return None
        names[other] = f"entity({r.literal(other)}, {r.dotted('it', (link,))})"
    return names
