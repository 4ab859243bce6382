"""Rules of the behaviour text over the records of a world: which each lets through, and which it does not."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import Ledger, World
from pipelines.core.problems import Refused
from pipelines.core.simulation.behavior import rules as r
from pipelines.core.simulation.behavior.lexicon import Lexicon
from pipelines.core.simulation.behavior.rules import ARGUMENTS, EACH, REPLY, Ref, Rule, Text
from pipelines.core.simulation.behavior.scope import link_field
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.run_plan import run
from pipelines.core.simulation.simulator import Moment, SimulationFailed

MOST_TRIED = 300  # records of a type
_STRINGS = re.compile(r"'((?:[^'\\]|\\.)*)'")
_NUMBERS = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleCases:
    rule: Rule
    kind: str  # the type of the records
    passing: tuple[str, ...]
    failing: tuple[str, ...]

    @property
    def missing(self) -> str | None:
        """The side without a case."""
        if not self.failing:
            return "forbids"
        return None if self.passing else "allows"


def need_of(rule: Rule) -> Text | None:
    """What a record must be like for the rule to let a call through."""
    return rule.body.need if isinstance(rule.body, r.Require) and not rule.body.at_end else None


def kind_of(rule: Rule, lexicon: Lexicon) -> str | None:
    """The one type whose records it decides about; None where it needs a call's arguments to decide."""
    need = need_of(rule)
    if need is None or {ARGUMENTS, REPLY, EACH} & need.roots():
        return None
    kinds = [root for root in sorted(need.roots()) if root in lexicon.kinds]
    if len(kinds) == 1:
        return kinds[0]
    tool = lexicon.tools.get(rule.tools[0].lower())
    return tool.kind if tool is not None and tool.kind in kinds else None


def cases_of(rule: Rule, lexicon: Lexicon, world: World, now: str) -> RuleCases | None:
    """None for a rule that records alone do not decide."""
    kind = kind_of(rule, lexicon)
    test = tester(rule, lexicon, now) if kind is not None else None
    if kind is None or test is None or kind not in world.entities:
        return None
    passing: list[str] = []
    failing: list[str] = []
    for id in islice(world.entities[kind], MOST_TRIED):
        outcome = test(id, Ledger(world))
        if outcome is not None:
            (passing if outcome else failing).append(id)
    return RuleCases(rule=rule, kind=kind, passing=tuple(passing), failing=tuple(failing))


class Tester:
    """Whether a record passes; None where that cannot be worked out."""

    def __init__(self, plan: object, now: str) -> None:
        self._plan = plan
        self._moment = Moment("a rule", 1, now)

    def __call__(self, id: str, ledger: Ledger) -> bool | None:
        try:
            return run(self._plan, {"id": id}, ledger, self._moment).response is True  # type: ignore[arg-type]
        except SimulationFailed:
            return None


def tester(rule: Rule, lexicon: Lexicon, now: str) -> Tester | None:
    kind, need = kind_of(rule, lexicon), need_of(rule)
    names = _names(kind, need, lexicon) if kind is not None and need is not None else None
    if names is None or need is None or kind is None:
        return None
    steps: list[Json] = [
        {"let": {"it": f"entity({r.literal(kind)}, args.id)"}},
        {"return": f"true if {need.written(names)} else false"},
    ]
    try:
        return Tester(parse_plan(steps, origin="read"), now)
    except Refused:
        return None


def _names(kind: str, need: Text, lexicon: Lexicon) -> Mapping[str, str] | None:
    names = {kind: "it"}
    own = lexicon.kinds.get(kind)
    for other in need.roots() - set(names):
        link = link_field(own, other) if own is not None else None
        if link is None:
            return None
        names[other] = f"entity({r.literal(other)}, {r.dotted('it', (link,))})"
    return names


def fields_of(rule: Rule, kind: str) -> list[tuple[str, ...]]:
    need = need_of(rule)
    found = [ref.path for ref in need.refs() if ref.root == kind and ref.path] if need is not None else []
    return list(dict.fromkeys(path for path in found if path != ("id",)))


def constants_of(rule: Rule) -> Iterator[Json]:
    """What the rule compares with: texts and numbers as they stand in it."""
    need = need_of(rule)
    for part in need.parts if need is not None else ():
        if isinstance(part, Ref):
            continue
        yield from (found.replace("\\'", "'") for found in _STRINGS.findall(part))
        for found in _NUMBERS.findall(_STRINGS.sub("", part)):
            number = float(found)
            yield int(number) if number.is_integer() else number


def looks_at_clock(rule: Rule) -> bool:
    need = need_of(rule)
    return need is not None and any(isinstance(p, str) and re.search(r"\bnow\b", p) for p in need.parts)


def with_record(world: World, kind: str, id: str, attributes: JsonObject) -> World:
    """The world with one record changed; everything else is shared."""
    return World({**world.entities, kind: {**world.entities[kind], id: attributes}}, world.flags)
