"""Reading against the blind tools: which side its plans are on, and whether calls do what they should.

`python tests/blind/tool_scores.py [trade…] [-v] [--tenth|--eleventh]` prints the figures, with -v each tool
and call it got wrong, with a flag those of a later set.
"""

import random
import string
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tool_facts
from blind_sets import chosen, folders

from pipelines.core.ledger.ledger import Add, Ledger, LedgerUpdate, Remove, Update, World
from pipelines.core.simulation.build import PlannedSimulator, ToolPlan, build_simulator
from pipelines.core.simulation.simulator import Moment, SimulationFailed
from pipelines.core.text.json_text import Json, loads
from pipelines.core.tools.tools_schema import parse_tools_schema

(FOLDER, *_, TENTH, ELEVENTH, _, _, _, _) = folders("tools")
NOW = "2026-01-15T10:30:00Z"
SURE = 0.8  # at this confidence a plan claims to be right
LIKELY = 0.5  # at this one no read may write
DECLARED = ("name", "description", "parameters", "output_schema")
CHANGES = frozenset(("set", "unset", "append", "add", "remove", "flag", "unflag"))


class CallScore(NamedTuple):
    arguments: dict[str, Any]
    complaints: tuple[str, ...]  # what is not as it should be, of reply and ledger
    changed: bool  # whether the ledger was to be changed in any way
    kinds: frozenset[str]  # of what was changed: added, removed, changed, each with its type
    reply: Json


class ToolScore(NamedTuple):
    trade: str
    tool: dict[str, Any]
    confidence: float
    writes: bool  # some step of the plan changes something
    calls: tuple[CallScore, ...]

    @property
    def name(self) -> str:
        return f"{self.trade}/{self.tool['name']}"

    @property
    def is_read(self) -> bool:
        return bool(self.tool["side"] == "read")

    @property
    def must_not_write(self) -> bool:
        return self.is_read or not self.tool["clear"]

    @property
    def may_do_either(self) -> bool:
        """A message that is sent: meant to do something, but nothing in the world has to change."""
        return not self.must_not_write and not any(call.get("changes") for call in self.tool["calls"])

    @property
    def has_right_effect(self) -> bool:
        """On the right side, and where a call that should succeed changes something, the change is of a kind
        that is expected: a record of the type is added, removed or changed."""
        pairs = zip(self.tool["calls"], self.calls, strict=True)
        done = [(one, scored.kinds) for one, scored in pairs if scored.changed and not one.get("error")]
        told = [(_kinds_told(one), kinds) for one, kinds in done]
        return self.has_right_side and all(bool(kinds & expected) for expected, kinds in told if expected)

    @property
    def does_write(self) -> bool:
        return self.writes or any(call.changed for call in self.calls)

    @property
    def has_right_side(self) -> bool:
        return self.may_do_either or self.does_write != self.must_not_write


def scored(
    trades: Sequence[str] = (),
    *,
    renamed: int | None = None,
    folder: Path = FOLDER,
    turned: Callable[[dict[str, Any]], dict[str, Any]] = lambda body: body,
) -> list[ToolScore]:
    """Every tool of the trades (of all, without any); with a seed in `renamed`, under senseless labels.
    `turned` makes another trade of each, as tool_variants does."""
    found: list[ToolScore] = []
    for path in sorted(folder.glob("*.json")):
        body: Any = loads(path.read_bytes())
        if trades and body["trade"] not in trades:
            continue
        found += _scored_trade(turned(body if renamed is None else relabelled(body, renamed)))
    return found


def relabelled(body: dict[str, Any], seed: int) -> dict[str, Any]:
    """The same trade with a random word for each entity type, in the world and in what is expected."""
    chance = random.Random(f"{seed}/{body['trade']}")
    labels = {kind: "".join(chance.choices(string.ascii_lowercase, k=9)) for kind in body["world"]}

    def items(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            one | ({"type": labels.get(one["type"], one["type"])} if "type" in one else {}) for one in changes
        ]

    def call(one: dict[str, Any]) -> dict[str, Any]:
        return one | {key: items(one[key]) for key in ("changes", "may_change") if one.get(key)}

    tools = [tool | {"calls": [call(one) for one in tool["calls"]]} for tool in body["tools"]]
    return body | {"world": {labels[kind]: of for kind, of in body["world"].items()}, "tools": tools}


def _scored_trade(body: dict[str, Any]) -> list[ToolScore]:
    world = World.from_initial_state(body["world"])
    simulator = build_simulator(parse_tools_schema(declared(body)), world=world)
    return [_scored_tool(body, tool, simulator, world) for tool in body["tools"]]


def declared(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The tools of a trade as their agent has them."""
    return [{key: tool[key] for key in DECLARED if key in tool} for tool in body["tools"]]


def scored_calls(body: dict[str, Any], tool: dict[str, Any], plans: Mapping[str, Json]) -> list[CallScore]:
    """The calls of one tool where these tools have these plans."""
    tools = [
        one | ({"simulation": plans[one["name"]]} if one["name"] in plans else {}) for one in declared(body)
    ]
    world = World.from_initial_state(body["world"])
    simulator = build_simulator(parse_tools_schema(tools), world=world)
    return [_scored_call(body, tool, call, simulator, world) for call in tool["calls"]]


def _scored_tool(
    body: dict[str, Any], tool: dict[str, Any], simulator: PlannedSimulator, world: World
) -> ToolScore:
    plan = simulator.plans[tool["name"]]
    calls = tuple(_scored_call(body, tool, call, simulator, world) for call in tool["calls"])
    return ToolScore(body["trade"], tool, plan.confidence, writes(plan), calls)


def writes(plan: ToolPlan) -> bool:
    return plan.plan is not None and _has_change(plan.plan.body)


def _has_change(block: Json) -> bool:
    if isinstance(block, list):
        return any(map(_has_change, block))
    if not isinstance(block, dict):
        return False
    inner = ("steps", "do", "then", "else")
    return bool(CHANGES & block.keys()) or any(_has_change(block[key]) for key in inner if key in block)


def _scored_call(
    body: dict[str, Any],
    tool: dict[str, Any],
    call: dict[str, Any],
    simulator: PlannedSimulator,
    world: World,
) -> CallScore:
    ledger = Ledger(world)
    moment = Moment(seed=f"blind/{body['trade']}/{tool['name']}", call_number=1, now=NOW)
    try:
        reply = simulator.answer(tool["name"], call["arguments"], ledger, moment)
    except SimulationFailed as failed:
        return CallScore(call["arguments"], (f"no answer: {failed}",), False, frozenset(), None)
    ledger.apply(reply.updates)
    complaints = [
        *tool_facts.wrong_status(call, reply.status),
        *tool_facts.wrong_reply(body["world"], tool, call, reply.response),
        *tool_facts.wrong_changes(body["world"], ledger.as_state(), tool, call),
    ]
    kinds = frozenset(_kind_of(update) for update in reply.updates)
    return CallScore(call["arguments"], tuple(complaints), bool(reply.updates), kinds, reply.response)


def _kind_of(update: LedgerUpdate) -> str:
    names = {Add: "added", Remove: "removed", Update: "changed"}
    return f"{names.get(type(update), 'flagged')} {getattr(update, 'entity_type', '')}"


def _kinds_told(call: dict[str, Any]) -> frozenset[str]:
    changes = call.get("changes") or ()
    how = ("added" if "added" in one else "removed" if one.get("removed") else "changed" for one in changes)
    return frozenset(f"{done} {one['type']}" for done, one in zip(how, changes, strict=True))


class Figures(NamedTuple):
    """What is reported of some tools. Shares are of one."""

    tools: int
    calls: int
    right_side: float
    reads_that_write: tuple[ToolScore, ...]
    unclear_that_write: tuple[ToolScore, ...]
    right_calls: float
    sure: int  # plans at or above SURE
    sure_right_side: float
    sure_right_effect: float

    @property
    def likely_reads_that_write(self) -> int:
        return sum(one.confidence >= LIKELY for one in self.reads_that_write)


def figures(tools: Sequence[ToolScore]) -> Figures:
    calls = [call for one in tools for call in one.calls]
    sure = [one for one in tools if one.confidence >= SURE]
    wrongly = [one for one in tools if one.must_not_write and one.does_write]
    return Figures(
        tools=len(tools),
        calls=len(calls),
        right_side=_share(one.has_right_side for one in tools),
        reads_that_write=tuple(one for one in wrongly if one.is_read),
        unclear_that_write=tuple(one for one in wrongly if not one.is_read),
        right_calls=_share(not call.complaints for call in calls),
        sure=len(sure),
        sure_right_side=_share(one.has_right_side for one in sure),
        sure_right_effect=_share(one.has_right_effect for one in sure),
    )


def _share(flags: Any) -> float:
    found = [*flags]
    return sum(found) / len(found) if found else 1.0


def unchanged_share(plain: Sequence[ToolScore], other: Sequence[ToolScore]) -> float:
    """Of all calls, those whose reply and complaints are the same under other labels."""
    pairs = [
        pair for one, two in zip(plain, other, strict=True) for pair in zip(one.calls, two.calls, strict=True)
    ]
    return _share(
        one.reply == two.reply and bool(one.complaints) == bool(two.complaints) for one, two in pairs
    )


def main(arguments: list[str]) -> None:
    trades = [argument for argument in arguments if not argument.startswith("-")]
    folder = chosen("tools", arguments)
    plain, other = scored(trades, folder=folder), scored(trades, renamed=1, folder=folder)
    heads = f"{'reads w':>9}{'unclear w':>10}{'calls':>7}{'right':>8}{'renamed':>9}"
    print(f"{'trade':<22}{'tools':>6}{'side':>8}{heads}")
    for trade in sorted({one.trade for one in plain}):
        _print_line(
            trade, [one for one in plain if one.trade == trade], [one for one in other if one.trade == trade]
        )
    _print_line("all", plain, other)
    total = figures(plain)
    confidences = Counter(round(one.confidence, 2) for one in total.reads_that_write)
    likely = total.likely_reads_that_write
    print(f"reads that write: {confidences.total()}, {likely} at {LIKELY} or more ({dict(confidences)})")
    right = f"right side {total.sure_right_side:.1%}, right effect {total.sure_right_effect:.1%}"
    print(f"plans at {SURE} or more: {total.sure}, {right}")
    renamed = figures(other)
    print(
        f"renamed: right side {renamed.right_side:.1%}, reads that write {len(renamed.reads_that_write)},",
        end=" ",
    )
    print(f"right calls {renamed.right_calls:.1%}, replies unchanged {unchanged_share(plain, other):.1%}")
    if "-v" in arguments:
        _print_wrong(plain)


def _print_line(trade: str, plain: Sequence[ToolScore], other: Sequence[ToolScore]) -> None:
    one = figures(plain)
    print(
        f"{trade:<22}{one.tools:>6}{one.right_side:>8.1%}{len(one.reads_that_write):>9}",
        f"{len(one.unclear_that_write):>9}{one.calls:>7}{one.right_calls:>8.1%}",
        f"{figures(other).right_calls:>8.1%}",
        sep="",
    )


def _print_wrong(tools: Sequence[ToolScore]) -> None:
    for one in tools:
        if not one.has_right_side:
            side = "writes" if one.does_write else "reads"
            print(f"\n[{one.name}] {side} at {one.confidence:.2f}: {one.tool.get('description', '')[:200]!r}")
        for call in one.calls:
            if call.complaints:
                print(f"[{one.name}] {call.arguments}: {'; '.join(call.complaints)}")


if __name__ == "__main__":
    main(sys.argv[1:])
