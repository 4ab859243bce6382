"""Each rule tried on the seeded world: what found no place there is not applied, and what changes nothing
there, or refuses everything, is told.

A rule that refuses every entity of a small world is still applied: such a world may be a refusal's own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pipelines.core.json_text import Json
from pipelines.core.ledger import Ledger, World
from pipelines.core.problems import Refused
from pipelines.core.simulation.behavior import rules as r
from pipelines.core.simulation.behavior.lexicon import Lexicon
from pipelines.core.simulation.behavior.rules import ARGUMENTS, EACH, REPLY, Behavior, Ref, Rule, Text
from pipelines.core.simulation.behavior.scope import link_field
from pipelines.core.simulation.behavior.things import ToolWords
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.run_plan import run
from pipelines.core.simulation.simulator import Moment, SimulationFailed

MOST_TRIED = 50  # entities of a kind; more of them would hardly be more different
FEWEST = 2  # of one entity alone every rule says either yes or no
_ANY_DAY = Moment("", 1, "2000-01-01T00:00:00Z")  # rules that look at the clock are not tried


class Tried(NamedTuple):
    behavior: Behavior  # with the rules that have a place
    without_effect: tuple[str, ...]  # sentences that change nothing in this world, or let nothing through


def tried(behavior: Behavior, lexicon: Lexicon, world: World) -> Tried:
    kept: list[Rule] = []
    misplaced: dict[str, str] = {}
    idle: dict[str, str] = {}
    for rule in behavior.rules:
        tool = lexicon.tools[rule.tools[0].lower()]
        why = _without_place(rule, tool, lexicon, behavior.rules)
        if why is not None:
            misplaced.setdefault(rule.sentence, why)
            continue
        kept.append(rule)
        told = _without_difference(rule, tool, lexicon, world)
        if told is not None:
            idle.setdefault(rule.sentence, told)
    # A sentence is enforced whole or not at all.
    whole = tuple(rule for rule in kept if rule.sentence not in misplaced)
    reported = tuple(f"{sentence} ({why})" for sentence, why in misplaced.items())
    found = Behavior(rules=whole, not_understood=(*behavior.not_understood, *reported))
    changes_nothing = (f"{one} ({why})" for one, why in idle.items() if one not in misplaced)
    return Tried(found, tuple(changes_nothing))


# -- no place


def _without_place(rule: Rule, tool: ToolWords, lexicon: Lexicon, rules: Sequence[Rule]) -> str | None:
    for one in _texts(rule.body):
        if "false" in one.parts:
            return f"nothing that {tool.name} is given, and no session in the world, says who calls"
        for ref in one.refs():
            missing = _missing(ref, tool, lexicon, rules)
            if missing is not None:
                return missing
    return None


def _texts(body: r.RuleBody) -> Iterator[Text]:
    """Expressions that decide something; what a call writes may be new."""
    for name in ("need", "keep", "when"):
        part = getattr(body, name, None)
        if isinstance(part, Text):
            yield part
    if isinstance(body, r.Put):
        yield body.value


def _missing(ref: Ref, tool: ToolWords, lexicon: Lexicon, rules: Sequence[Rule]) -> str | None:
    kind = lexicon.kinds.get((tool.kind or "") if ref.root == EACH else ref.root)
    if kind is None or not kind.fields or not ref.path or ref.path == ("id",):
        return None
    known = {path[0] for path in kind.fields} | {
        rule.body.target.path[0]
        for rule in rules
        if isinstance(rule.body, r.Write) and rule.body.target.root == kind.name
    }
    kept = any(ref.path[0] in one.arguments for one in lexicon.tools.values() if not one.reads)
    return None if ref.path[0] in known or kept else f"no {kind.name} of the world has {ref.path[0]}"


# -- no difference


def _without_difference(rule: Rule, tool: ToolWords, lexicon: Lexicon, world: World) -> str | None:
    body = rule.body
    if isinstance(body, r.Require) and not body.at_end:
        kind, one = _kind_of(body.need, tool, lexicon), body.need
        says = ("every {} of the world passes", "no {} of the world passes")
    elif isinstance(body, r.Filter):
        kind, one = tool.kind, body.keep
        says = ("it leaves no {} of the world out", "it leaves every {} of the world out")
    else:
        return None
    if kind is None or {ARGUMENTS, REPLY} & one.roots() or _looks_at_clock(one):
        return None
    found = _outcomes(kind, one, lexicon, world)
    if len(found) < FEWEST or len(set(found)) > 1:
        return None
    return says[0 if found[0] else 1].format(kind)


def _looks_at_clock(one: Text) -> bool:
    return any(isinstance(part, str) and re.search(r"\bnow\b", part) for part in one.parts)


def _kind_of(need: Text, tool: ToolWords, lexicon: Lexicon) -> str | None:
    kinds = [root for root in sorted(need.roots()) if root in lexicon.kinds]
    return kinds[0] if len(kinds) == 1 else tool.kind if tool.kind in kinds else None


def _outcomes(kind: str, one: Text, lexicon: Lexicon, world: World) -> list[bool]:
    names = _names(kind, one, lexicon)
    if names is None:
        return []
    steps: list[Json] = [{"let": {"it": f"entity({r.literal(kind)}, args.id)"}}]
    steps.append({"return": f"true if {one.written(names)} else false"})
    try:
        plan = parse_plan(steps, origin="read")
        ids = list(world.entities.get(kind, {}))[:MOST_TRIED]
        return [run(plan, {"id": id}, Ledger(world), _ANY_DAY).response is True for id in ids]
    except (Refused, SimulationFailed):
        return []


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
