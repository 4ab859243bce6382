"""Reading a run step by step: its timeline, one step of it, the world after it, a search through all of them.

Whatever grows with a run is read on a reader thread, and cut where it is shown.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pipelines.core.agents.placed_messages import place_messages
from pipelines.core.agents.transcript import Message, messages_from_stored
from pipelines.core.ledger.ledger import InvalidUpdate, World, update_from_json
from pipelines.core.ledger.ledger_steps import EntityChange, StepLog, WorldAfter, entity_history, world_after
from pipelines.core.limits.lazy_property import lazy_property
from pipelines.core.text.json_text import JsonObject, dumps, loads_own
from pipelines.core.tools.failure_words import rule_in_words
from pipelines.core.tools.step_times import RunTime, TimedRow, run_time
from pipelines.core.tools.trace_row import TOOL_CALL, TraceRow
from pipelines.engine.find import run_in
from pipelines.engine.judging.read_judges import calibration_of_run
from pipelines.engine.platform import Platform
from pipelines.engine.reviews.decide_run import review_of_run
from pipelines.engine.reviews.read_reviews import Caller
from pipelines.storage.agents.agents import agent_by_id
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.trace_rows import row_at
from pipelines.storage.evals.evals import matrix_of_batch
from pipelines.storage.lists.builds import Build, builds_of_runs
from pipelines.storage.lists.summaries import AskedOfTask, instructions_of_tasks
from pipelines.storage.runs import runs
from pipelines.storage.runs.model_exchanges import PurposeCost, costs_of_run
from pipelines.storage.runs.runs import Run
from pipelines.storage.runs.trace_steps import (
    StepBrief,
    StepOutline,
    briefs_of_run,
    changes_of_run,
    outline_of_run,
    repeated_calls_of_run,
    rows_with,
)
from pipelines.storage.tasks.datasets import world_by_hash
from pipelines.wire.errors import NotFound
from pipelines.wire.names import RunStatus

START, END = "0", "end"
MOST_FOUND = 500  # steps that a search names
SEARCH_S = 1.0  # of one search; the next goes on where it stopped
#: What an agent reports of its own words: a transcript then adds nothing but what the user said.
_REPORTED_KINDS = frozenset(("assistant_message", "thinking", "subagent_message", "subagent_final"))


class TimelineItem(NamedTuple):
    """One line of the timeline. `name` is what links call it: 0, the number of a row, m3, end."""

    name: str
    kind: Literal["start", "step", "message", "end"]
    step: StepOutline | None = None
    message: int | None = None  # its place in the transcript


class TimelineFilter(NamedTuple):
    """Which lines of a timeline a reader wants to see."""

    only: Literal["", "changes", "failures"] = ""
    is_folded: bool = True  # whether a run of equal calls is one line


EVERYTHING = TimelineFilter(is_folded=False)
FOLDED_FROM = 3  # equal calls one after the other


class TimelineLine(NamedTuple):
    item: TimelineItem
    folded: tuple[StepOutline, ...] = ()  # equal calls right behind it, which have no line of their own


@dataclass(frozen=True, kw_only=True)  # no slots: what is derived is kept on the record
class Timeline:
    run: Run
    steps: list[StepOutline]
    messages: tuple[Message, ...]
    has_placed: bool  # whether the transcript tells the same calls as the log
    filter: TimelineFilter = EVERYTHING
    repeated: frozenset[int] = frozenset()  # calls that equal the row with the number before

    @lazy_property
    def items(self) -> list[TimelineItem]:
        calls = 0
        waiting = self._messages()[::-1]
        items = [TimelineItem(START, "start")]
        for step in self.steps:
            while step.kind == TOOL_CALL and waiting and waiting[-1][1] <= calls:
                items.append(_message_item(waiting.pop()[0]))
            calls += step.kind == TOOL_CALL
            items.append(TimelineItem(str(step.sequence), "step", step))
        items += [_message_item(index) for index, _ in reversed(waiting)]
        return items + ([TimelineItem(END, "end")] if self.has_ended else [])

    @property
    def has_ended(self) -> bool:
        return self.run.status not in (RunStatus.PENDING, RunStatus.RUNNING)

    @lazy_property
    def positions(self) -> dict[str, int]:
        return {item.name: place for place, item in enumerate(self.items)}

    @lazy_property
    def lines(self) -> list[TimelineLine]:
        """The items that the filter leaves, with equal calls folded. The first and the last always stay."""
        if self._has_every_item:
            return [TimelineLine(item) for item in self.items]
        lines: list[TimelineLine] = []
        run: list[TimelineItem] = []
        for item in [each for each in self.items if self._is_wanted(each)]:
            if run and not self._repeats(item, run[-1]):
                lines += _folded(run)
                run = []
            run.append(item)
        return lines + _folded(run)

    @lazy_property
    def line_places(self) -> dict[str, int]:
        """The line of each item; for an item without a line, the line before it."""
        if self._has_every_item:
            return self.positions
        own = {line.item.name: place for place, line in enumerate(self.lines)}
        places: dict[str, int] = {}
        place = 0
        for item in self.items:
            place = places[item.name] = own.get(item.name, place)
        return places

    @lazy_property
    def time(self) -> RunTime | None:
        rows = [TimedRow(step.sequence, step.kind, step.occurred_at, step.latency_ms) for step in self.steps]
        return run_time(rows, self.run.dispatched_at or self.run.started_at, self.run.ended_at)

    @property
    def _has_every_item(self) -> bool:
        """Whether each item has a line: most timelines, and the long ones should not be walked twice."""
        return not self.filter.only and (not self.filter.is_folded or len(self.repeated) < FOLDED_FROM - 1)

    def _is_wanted(self, item: TimelineItem) -> bool:
        if not self.filter.only or item.kind in ("start", "end"):
            return True
        if item.step is None:
            return False
        return bool(item.step.changes) if self.filter.only == "changes" else item.step.is_failure

    def _repeats(self, item: TimelineItem, before: TimelineItem) -> bool:
        """Whether it is the call before it once more, with nothing between them and nothing changed."""
        step, last = item.step, before.step
        if step is None or last is None or step.sequence not in self.repeated:
            return False
        is_next = last.sequence == step.sequence - 1
        is_equal = step.outcome == last.outcome and not step.changes
        return is_next and is_equal and self.positions[item.name] == self.positions[before.name] + 1

    @lazy_property
    def failures(self) -> list[str]:
        return [str(step.sequence) for step in self.steps if step.is_failure]

    @lazy_property
    def actors(self) -> list[str]:
        return list(dict.fromkeys(step.actor_id for step in self.steps if step.actor_id is not None))

    @lazy_property
    def sources(self) -> Counter[str]:
        return Counter(step.source or "error" for step in self.steps if step.kind == TOOL_CALL)

    def of_tool(self, step: StepOutline) -> tuple[int, int]:
        """Which of how many calls of its tool this is, in the order they were answered."""
        every = sorted(
            s.sequence for s in self.steps if s.kind == TOOL_CALL and s.tool_name == step.tool_name
        )
        return every.index(step.sequence) + 1, len(every)

    def world_step(self, place: int) -> int:
        """The row up to which the world counts at a place of the timeline: that of the last call there."""
        before = (item.step.sequence for item in self.items[: place + 1] if item.step and _is_call(item.step))
        return max(before, default=0)

    def _messages(self) -> list[tuple[int, int]]:
        """Of the transcript, what no other line of the timeline says."""
        tools = [step.tool_name or "" for step in self.steps if step.kind == TOOL_CALL]
        placed = (place_messages(self.messages, tools) or []) if self.has_placed else []
        is_reported = any(step.kind in _REPORTED_KINDS for step in self.steps)
        question = next((index for index, each in enumerate(self.messages) if each.role == "user"), None)
        last = len(self.messages) - 1
        return [
            (index, calls)
            for index, calls in placed
            if index != question
            and not (is_reported and self.messages[index].role == "assistant")
            and not (index == last and self.messages[index].text() == self.run.final_response)
        ]


class StepInFull(NamedTuple):
    timeline: Timeline
    place: int
    row: TraceRow | None
    rule: str | None  # the failure rule that answered, in words
    world: WorldAfter | None
    world_problem: str | None  # why there is none


class RunInFull(NamedTuple):
    """What the page of a run begins with."""

    timeline: Timeline
    asked: AskedOfTask
    agent: str | None  # its name, where it is still there
    build: Build | None
    review: JsonObject | None
    earlier: list[JsonObject]
    window: range  # of its timeline
    briefs: dict[int, StepBrief]  # of the rows of that window
    step: StepInFull | None
    judge: JsonObject | None  # how far the judge model can be believed that its verdict is by
    asked_models: list[PurposeCost]  # what models were asked for it, by whom
    is_of_matrix: bool


class TimelineView(NamedTuple):
    """What a page shows of a timeline."""

    window: range
    step: str | None = None


async def read_run_page(
    platform: Platform,
    caller: Caller,
    run_id: int,
    choose: Callable[[Timeline], TimelineView],
    line_filter: TimelineFilter = EVERYTHING,
) -> RunInFull:
    """The run with the rows of one window of its timeline, in short, and one step in full."""

    def read(connection: Connection) -> RunInFull:
        timeline = _timeline(connection, caller.org_id, run_id, line_filter)
        run, chosen = timeline.run, choose(timeline)
        agent = agent_by_id(connection, org_id=run.org_id, agent_id=run.agent_id, version=run.agent_version)
        return RunInFull(
            timeline,
            instructions_of_tasks(connection, [run.task_id])[run.task_id],
            agent.definition.name if agent is not None else None,
            builds_of_runs(connection, [run.id]).get(run.id),
            review_of_run(platform, connection, caller, run.id),
            list(runs.past_verdicts(connection, run.id)),
            chosen.window,
            _briefs(connection, timeline, chosen.window),
            step_in(connection, timeline, chosen.step, with_world=True) if chosen.step is not None else None,
            calibration_of_run(connection, run.org_id, run.judgement),
            costs_of_run(connection, run.id),
            run.batch_id is not None and matrix_of_batch(connection, run.batch_id) is not None,
        )

    return await platform.database.read(read)


async def read_timeline(platform: Platform, org_id: int, run_id: int) -> Timeline:
    return await platform.database.read(lambda connection: _timeline(connection, org_id, run_id))


async def read_window(
    platform: Platform,
    org_id: int,
    run_id: int,
    window: Callable[[Timeline], range],
    line_filter: TimelineFilter = EVERYTHING,
) -> tuple[Timeline, dict[int, StepBrief]]:
    def read(connection: Connection) -> tuple[Timeline, dict[int, StepBrief]]:
        timeline = _timeline(connection, org_id, run_id, line_filter)
        return timeline, _briefs(connection, timeline, window(timeline))

    return await platform.database.read(read)


async def read_step(
    platform: Platform,
    org_id: int,
    run_id: int,
    name: str,
    *,
    with_world: bool = True,
    line_filter: TimelineFilter = EVERYTHING,
) -> StepInFull:
    def read(connection: Connection) -> StepInFull:
        timeline = _timeline(connection, org_id, run_id, line_filter)
        return step_in(connection, timeline, name, with_world=with_world)

    return await platform.database.read(read)


def step_in(connection: Connection, timeline: Timeline, name: str, *, with_world: bool) -> StepInFull:
    place = timeline.positions.get(name)
    if place is None:
        raise NotFound(f"Run {timeline.run.id} has no step {name[:40]}.")
    item = timeline.items[place]
    row = row_at(connection, timeline.run.id, item.step.sequence) if item.step is not None else None
    world, problem = None, None
    if with_world:
        try:
            world = _world(connection, timeline.run, timeline.world_step(place))
        except (InvalidUpdate, ValueError, KeyError) as error:
            problem = f"The log does not fit the world it started from: {error}"
    return StepInFull(timeline, place, row, _rule_words(timeline.run, row), world, problem)


async def read_entity(
    platform: Platform, org_id: int, run_id: int, name: tuple[str, str]
) -> tuple[Run, JsonObject | None, list[EntityChange]]:
    """An entity as the run found it, and what every step made of it."""

    def read(connection: Connection) -> tuple[Run, JsonObject | None, list[EntityChange]]:
        run = run_in(connection, org_id, run_id)
        world = World.from_initial_state(world_by_hash(connection, run.world_hash))
        first = world.entities.get(name[0], {}).get(name[1])
        return run, first, entity_history(world, step_log(connection, run.id), name)

    return await platform.database.read(read)


class StepsFound(NamedTuple):
    names: list[str]  # of steps in the order of the timeline
    searched: int | None  # up to which row, where the search stopped before the last
    more: bool  # whether there are more than are named


async def search_steps(
    platform: Platform, org_id: int, run_id: int, words: str, after: int = 0
) -> StepsFound:
    """Steps whose arguments, reply or event contain the words as they stand in JSON."""
    needle = dumps(words).decode()[1:-1]

    def read(connection: Connection) -> StepsFound:
        timeline = _timeline(connection, org_id, run_id)
        last = max((step.sequence for step in timeline.steps), default=0)
        hits: list[int] = []
        place, stop = after, time.monotonic() + SEARCH_S
        while place < last and len(hits) <= MOST_FOUND and time.monotonic() < stop:
            found = rows_with(connection, run_id, needle, after=place, most=MOST_FOUND + 1 - len(hits))
            hits += found.sequences
            place = found.searched
        names = {*map(str, hits[:MOST_FOUND]), *_matching_texts(timeline, words)}
        ordered = sorted(names, key=timeline.positions.__getitem__)
        return StepsFound(ordered, place if place < last else None, len(hits) > MOST_FOUND)

    return await platform.database.read(read)


def step_log(connection: Connection, run_id: int, upto: int | None = None) -> StepLog:
    return [
        (sequence, [update_from_json(body) for body in loads_own(text)])  # type: ignore[union-attr,arg-type]
        for sequence, text in changes_of_run(connection, run_id, upto)
    ]


def _timeline(
    connection: Connection, org_id: int, run_id: int, line_filter: TimelineFilter = EVERYTHING
) -> Timeline:
    run = run_in(connection, org_id, run_id)
    steps = outline_of_run(connection, run_id)
    messages = messages_from_stored(run.messages or ())
    tools = [step.tool_name or "" for step in steps if step.kind == TOOL_CALL]
    return Timeline(
        run=run,
        steps=steps,
        messages=messages,
        has_placed=place_messages(messages, tools) is not None,
        filter=line_filter,
        repeated=frozenset(repeated_calls_of_run(connection, run_id))
        if line_filter.is_folded
        else frozenset(),
    )


def _briefs(connection: Connection, timeline: Timeline, window: range) -> dict[int, StepBrief]:
    items = [line.item for line in timeline.lines[window.start : window.stop]]
    return briefs_of_run(connection, timeline.run.id, [item.step.sequence for item in items if item.step])


def _world(connection: Connection, run: Run, upto: int) -> WorldAfter:
    world = World.from_initial_state(world_by_hash(connection, run.world_hash))
    return world_after(world, step_log(connection, run.id, upto), upto)


def _rule_words(run: Run, row: TraceRow | None) -> str | None:
    if row is None or row.matched_rule_index is None:
        return None
    rules = run.seed.failure_rules
    return rule_in_words(rules[row.matched_rule_index]) if row.matched_rule_index < len(rules) else None


def _matching_texts(timeline: Timeline, words: str) -> list[str]:
    """Of what is no row of the log: the instruction, messages, the answer."""
    needle, run = words.casefold(), timeline.run
    texts = {START: run.seed.user_instruction, END: run.final_response or ""}
    texts |= {f"m{item.message}": "" for item in timeline.items if item.message is not None}
    for name in texts:
        if name.startswith("m"):
            texts[name] = timeline.messages[int(name[1:])].text()
    return [name for name, text in texts.items() if needle in text.casefold() and name in timeline.positions]


def _message_item(index: int) -> TimelineItem:
    return TimelineItem(f"m{index}", "message", message=index)


def _folded(run: list[TimelineItem]) -> list[TimelineLine]:
    """Equal calls as one line, where they are many enough."""
    if len(run) < FOLDED_FROM:
        return [TimelineLine(item) for item in run]
    return [TimelineLine(run[0], tuple(item.step for item in run[1:] if item.step is not None))]


def _is_call(step: StepOutline) -> bool:
    return step.kind == TOOL_CALL
