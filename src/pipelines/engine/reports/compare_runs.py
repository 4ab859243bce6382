"""Two runs side by side: their calls aligned, where they part, what each made of the world.

All of it happens on a reader thread; what is read of a call is bounded, and so is how many are.
"""

from collections.abc import Iterator
from typing import NamedTuple

from pipelines.core.ledger.ledger import InvalidUpdate, Ledger, SetFlag, World
from pipelines.core.results.align_calls import AlignedRow, ComparedCall, Divergence, align, divergence
from pipelines.core.text.json_text import Json, JsonObject, canonical, loads_own, same
from pipelines.engine.find import run_in
from pipelines.engine.platform import Platform
from pipelines.engine.runs.read_steps import step_log
from pipelines.storage.agents.agents import agent_by_id
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.paging import Filter
from pipelines.storage.lists.summaries import AskedOfTask, instructions_of_tasks, run_summaries
from pipelines.storage.runs.runs import Run
from pipelines.storage.runs.trace_steps import COMPARED_CHARS, CallToCompare, calls_to_compare
from pipelines.storage.tasks.datasets import world_by_hash

MOST_CALLS = 5_000  # of each run: aligning so many takes a thirtieth of a second
MOST_CHOICES = 20
ABSENT = object()


class Side(NamedTuple):
    run: Run
    agent: str | None
    asked: AskedOfTask
    calls: dict[int, CallToCompare]
    is_cut: bool  # it has more calls than are compared


class WorldDifference(NamedTuple):
    """One field as either run left it; a value that is not there is told by `has`."""

    entity_type: str
    id: str
    field: str | None  # None: the entity as a whole
    values: tuple[Json, Json, Json]  # at the start, left, right
    has: tuple[bool, bool, bool]
    is_same: bool  # both runs left it alike


class ComparedRuns(NamedTuple):
    left: Side
    right: Side
    rows: list[AlignedRow]
    divergence: Divergence
    worlds: list[WorldDifference]
    world_problem: str | None
    too_long: bool  # some arguments or replies are compared by their beginning and length


async def compare_runs(platform: Platform, org_id: int, left_id: int, right_id: int) -> ComparedRuns:
    return await platform.database.read(lambda connection: _compare(connection, org_id, left_id, right_id))


async def others_of_task(platform: Platform, org_id: int, run_id: int) -> tuple[Run, list[JsonObject]]:
    """The run, and the newest other runs of its task: what it is most often compared with."""

    def read(connection: Connection) -> tuple[Run, list[JsonObject]]:
        run = run_in(connection, org_id, run_id)
        filters = [Filter("org_id", org_id), Filter("task_id", run.task_id)]
        page = run_summaries(connection, filters=filters, limit=MOST_CHOICES + 1, before_id=None)
        return run, [other for other in page.items if other["id"] != run_id][:MOST_CHOICES]

    return await platform.database.read(read)


def _compare(connection: Connection, org_id: int, left_id: int, right_id: int) -> ComparedRuns:
    left, right = _side(connection, org_id, left_id), _side(connection, org_id, right_id)
    calls = [*left.calls.values(), *right.calls.values()]
    rows = align(_comparable_calls(left), _comparable_calls(right))
    worlds: list[WorldDifference] = []
    problem = None
    try:
        worlds = _worlds(connection, left.run, right.run)
    except (InvalidUpdate, ValueError, KeyError) as error:
        problem = f"A log does not fit the world it started from: {error}"
    too_long = any(max(call.arguments_chars, call.response_chars) > COMPARED_CHARS for call in calls)
    return ComparedRuns(left, right, rows, divergence(rows), worlds, problem, too_long)


def _side(connection: Connection, org_id: int, run_id: int) -> Side:
    run = run_in(connection, org_id, run_id)
    calls = calls_to_compare(connection, run_id, MOST_CALLS + 1)
    agent = agent_by_id(connection, org_id=org_id, agent_id=run.agent_id, version=run.agent_version)
    return Side(
        run,
        agent.definition.name if agent is not None else None,
        instructions_of_tasks(connection, [run.task_id])[run.task_id],
        {call.sequence: call for call in calls[:MOST_CALLS]},
        len(calls) > MOST_CALLS,
    )


def _comparable_calls(side: Side) -> list[ComparedCall]:
    return [
        ComparedCall(
            sequence=call.sequence,
            tool=call.tool_name,
            arguments=_compare_key(call.arguments, call.arguments_chars),
            outcome=(call.source, call.http_status),
            reply=_compare_key(call.response, call.response_chars),
        )
        for call in side.calls.values()
    ]


def _compare_key(text: str | None, chars: int) -> bytes | tuple[str, int] | None:
    """Equal for equal values, however their fields are ordered; of a long one, its beginning and length."""
    if text is None:
        return None
    return canonical(loads_own(text)) if chars <= COMPARED_CHARS else (text, chars)


def _worlds(connection: Connection, left: Run, right: Run) -> list[WorldDifference]:
    """Every field that either run changed, as both left it: what differs first."""
    starts = [World.from_initial_state(world_by_hash(connection, left.world_hash))]
    starts += [
        starts[0]
        if left.world_hash == right.world_hash
        else World.from_initial_state(world_by_hash(connection, right.world_hash))
    ]
    ledgers = []
    touched: dict[tuple[str, str], None] = {}
    for run, world in zip((left, right), starts, strict=True):
        ledger = Ledger(world)
        for _, updates in step_log(connection, run.id):
            ledger.apply(updates)
            touched |= {(u.entity_type, u.id): None for u in updates if not isinstance(u, SetFlag)}
        ledgers.append(ledger)
    found = [each for name in touched for each in _fields(name, Ledger(starts[0]), *ledgers)]
    found += _flags(Ledger(starts[0]), *ledgers)
    return sorted(found, key=lambda each: each.is_same)


def _fields(name: tuple[str, str], start: Ledger, left: Ledger, right: Ledger) -> Iterator[WorldDifference]:
    states = [ledger.get(*name) for ledger in (start, left, right)]
    if states[1] is None or states[2] is None:
        is_same = states[1] is None and states[2] is None
        if not (is_same and states[0] is None):
            first, one, other = (state if state is not None else ABSENT for state in states)
            yield _difference(name, None, first, one, other)
        return
    for field in dict.fromkeys(field for state in states if state is not None for field in state):
        first, one, other = (state.get(field, ABSENT) if state is not None else ABSENT for state in states)
        if not (_are_equal(first, one) and _are_equal(first, other)):
            yield _difference(name, field, first, one, other)


def _flags(start: Ledger, left: Ledger, right: Ledger) -> Iterator[WorldDifference]:
    for flag in dict.fromkeys([*start.flags(), *left.flags(), *right.flags()]):
        first, one, other = (ledger.is_flagged(flag) for ledger in (start, left, right))
        if not first == one == other:
            yield _difference(("flag", flag), "", first, one, other)


def _difference(name: tuple[str, str], field: str | None, *values: object) -> WorldDifference:
    has = tuple(value is not ABSENT for value in values)
    sides = tuple(None if value is ABSENT else value for value in values)
    return WorldDifference(*name, field, sides, has, _are_equal(values[1], values[2]))  # type: ignore[arg-type]


def _are_equal(one: object, other: object) -> bool:
    if one is ABSENT or other is ABSENT:
        return one is other
    return same(one, other)  # type: ignore[arg-type]
