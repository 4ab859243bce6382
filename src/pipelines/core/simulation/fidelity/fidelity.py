"""How close a simulated backend comes to a recorded one, call by call.

FM: the reply is equal as JSON; for errors, an error is an error. CM: the ledger after the call equals the
real one. Each is taken twice: free-running (the simulated ledger goes its own way from the first call
of a task) and forced (every call meets the real state). Unmarked figures are free-running, which is
what an agent in the sandbox meets. Values drawn at random are compared by shape: see `likeness`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from pipelines.core.ledger.ledger import Add, Ledger, LedgerUpdate, Remove, SetFlag, Update, World
from pipelines.core.simulation.call_history import CallHistory
from pipelines.core.simulation.domain.tool_names import kind_of_tool
from pipelines.core.simulation.fidelity.fidelity_report import CallOutcome, Mismatch, Report, Tally
from pipelines.core.simulation.fidelity.likeness import comparable, leaves, renamed, renamed_updates, renaming
from pipelines.core.simulation.fidelity.recording import (
    RecordedCall,
    RecordedTask,
    Recording,
    looks_like_error,
    recording_from_run,
)
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed, Simulator
from pipelines.core.text.json_text import Json, JsonObject, same

__all__ = ["CallOutcome", "Mismatch", "Report", "Tally", "recording_from_run", "replay"]

Clock = Callable[[], float]  # seconds, from any origin
SHOWN_DIFFERENCES = 8  # per mismatch
RUN_DATE = "2026-01-15T10:30:00Z"  # recordings carry no date of their own; times are compared by shape


def replay(
    recording: Recording,
    simulator_for: Callable[[World], Simulator],
    *,
    clock: Clock,
    only: Collection[str] | None = None,
) -> Report:
    """Every call of every task again, answered by the simulator of the task's world. With `only`, calls of
    other tools are not measured: they do what they did."""
    shared = World.from_initial_state(recording.state)
    shared_simulator = simulator_for(shared) if any(task.state is None for task in recording.tasks) else None
    writers = {call.tool for task in recording.tasks for call in task.calls if call.updates}
    outcomes: list[CallOutcome] = []
    final_states: dict[str, bool] = {}
    for task in recording.tasks:
        world = shared if task.state is None else World.from_initial_state(task.state)
        simulator = (
            simulator_for(world) if task.state is not None or shared_simulator is None else shared_simulator
        )
        pair = _Pair(world, task, simulator.remembered_tools)
        for number, call in numbered_calls(task):
            if only is None or call.tool in only:
                outcomes.append(_replay_call(pair, simulator, number, call, writers, clock))
            else:
                pair.apply(call.updates, call.updates)
                pair.remember(call, _as_recorded(call))
        final_states[task.name] = not pair.apart
    return Report(outcomes=tuple(outcomes), final_states=final_states)


class _Pair:
    """The real and the simulated ledger of one task, and where they have come apart."""

    def __init__(self, world: World, task: RecordedTask, remembered: frozenset[str]) -> None:
        self.task = task
        self.real = Ledger(world)
        self.free = Ledger(world)
        # What plans look back at: the calls that the real backend took, and those that the simulated one did.
        self.real_calls = CallHistory.of(remembered)
        self.free_calls = CallHistory.of(remembered)
        for ledger in (self.real, self.free):
            ledger.apply(task.init)
        self.apart: set[tuple[str, str]] = set()
        self._values: frozenset[Json] | None = None

    def is_known(self, arguments: JsonObject) -> Callable[[Json], bool]:
        """Whether a value stood in the state before the call or in its arguments. Built only when asked."""

        def known(value: Json) -> bool:
            if self._values is None:
                self._values = frozenset(map(_text, leaves(self.real.as_state())))
            return _text(value) in self._values or _text(value) in set(map(_text, leaves(arguments)))

        return known

    def remember(self, call: RecordedCall, reply: SimulatedReply | None) -> None:
        """Later calls see it, where it succeeded."""
        if self.real_calls is not None and not call.is_error:
            self.real_calls.add(call.tool, call.arguments)
        if self.free_calls is not None and reply is not None and reply.status < 400:
            self.free_calls.add(call.tool, call.arguments)

    def apply(self, real: tuple[LedgerUpdate, ...], simulated: tuple[LedgerUpdate, ...]) -> None:
        apply_what_fits(self.real, real)
        apply_what_fits(self.free, simulated)
        self._values = self._values if not real else None
        touched = {_address(update) for update in (*real, *simulated)}
        self.apart = {at for at in self.apart | touched if not _agree(self.real, self.free, at)}


def _replay_call(
    pair: _Pair,
    simulator: Simulator,
    number: int,
    call: RecordedCall,
    writers: set[str],
    clock: Clock,
) -> CallOutcome:
    seed = f"fidelity/{pair.task.name}"
    met, moment = (Moment(seed, number, RUN_DATE, history) for history in (pair.real_calls, pair.free_calls))
    known = pair.is_known(call.arguments)
    met_answer = _answer(simulator, call, pair.real, met)
    forced = _aligned(met_answer, call, known)
    before = clock()
    reply = _answer(simulator, call, pair.free, moment)
    took_us = (clock() - before) * 1e6
    free = _aligned(reply, call, known)
    changed = leaves_changed(pair.real, call.updates)
    cm_forced = _same_change(pair.real, call.updates, forced.updates if forced else ())
    fm_forced = _same_reply(forced, call)
    pair.apply(call.updates, free.updates if free else ())
    pair.remember(call, reply if isinstance(reply, SimulatedReply) else None)
    failed = met_answer if isinstance(met_answer, SimulationFailed) else None
    is_right = fm_forced and cm_forced
    return CallOutcome(
        task=pair.task.name,
        number=number,
        tool=call.tool,
        kind="write" if call.tool in writers else kind_of_tool(call.tool),
        leaves_changed=changed,
        is_error=call.is_error,
        changes=bool(call.updates),
        fm_free=_same_reply(free, call),
        fm_forced=fm_forced,
        cm_free=not pair.apart,
        cm_forced=cm_forced,
        took_us=took_us,
        mismatch=None if is_right else _mismatch(pair.task.name, number, call, forced, failed),
    )


def _answer(
    simulator: Simulator, call: RecordedCall, ledger: Ledger, moment: Moment
) -> SimulatedReply | SimulationFailed | None:
    """No reply when the simulator could not answer at all: that matches nothing, not even an error."""
    try:
        reply = simulator.answer(call.tool, call.arguments, ledger, moment)
    except SimulationFailed as failed:
        return failed
    return reply if isinstance(reply, SimulatedReply) else None


def _aligned(
    reply: SimulatedReply | SimulationFailed | None, call: RecordedCall, known: Callable[[Json], bool]
) -> SimulatedReply | None:
    """The reply with what it drew at random renamed to what the real backend drew."""
    if not isinstance(reply, SimulatedReply):
        return None
    if _is_error(reply):
        return reply
    names = renaming(reply.response, call.response, known)
    names |= renaming(comparable(reply.updates), comparable(call.updates), known)
    if not names:
        return reply
    return reply._replace(
        response=renamed(reply.response, names), updates=renamed_updates(reply.updates, names)
    )


def _is_error(reply: SimulatedReply) -> bool:
    return reply.status >= 400 or looks_like_error(reply.response)


def _same_reply(reply: SimulatedReply | None, call: RecordedCall) -> bool:
    if reply is None:
        return False
    if call.is_error or _is_error(reply):
        return call.is_error and _is_error(reply)
    return same(reply.response, call.response)


def _same_change(ledger: Ledger, real: tuple[LedgerUpdate, ...], mine: tuple[LedgerUpdate, ...]) -> bool:
    theirs, ours = ledger.draft(), ledger.draft()
    apply_what_fits(theirs, real)
    apply_what_fits(ours, mine)
    return all(_agree(theirs, ours, _address(update)) for update in (*real, *mine))


def apply_what_fits(ledger: Ledger, updates: Iterable[LedgerUpdate]) -> None:
    """A renamed update may hit an entity that the drifted ledger lacks: that is the difference counted. And
    an update of a recording may not fit its state."""
    for update in updates:
        exists = not isinstance(update, SetFlag) and ledger.get(update.entity_type, update.id) is not None
        if isinstance(update, SetFlag) or isinstance(update, Add) != exists:
            ledger.apply([update])


def _address(update: LedgerUpdate) -> tuple[str, str]:
    return ("", update.flag) if isinstance(update, SetFlag) else (update.entity_type, update.id)


def _agree(one: Ledger, other: Ledger, at: tuple[str, str]) -> bool:
    kind, id = at
    if not kind:
        return one.is_flagged(id) == other.is_flagged(id)
    return same(one.get(kind, id), other.get(kind, id))


def leaves_changed(ledger: Ledger, updates: Iterable[LedgerUpdate]) -> int:
    """How many scalar values a call's updates make, change or take away."""
    draft = ledger.draft()
    count = 0
    for update in updates:
        before = None if isinstance(update, SetFlag) else draft.get(update.entity_type, update.id)
        match update:
            case Add():
                count += sum(1 for _ in _paths(update.attrs))
            case Remove():
                count += sum(1 for _ in _paths(before))
            case Update():
                old = {name: (before or {}).get(name) for name in (*update.set, *update.unset)}
                count += len(different_paths(old, update.set))
            case SetFlag():
                count += 1
        apply_what_fits(draft, [update])
    return count


def different_paths(left: Json, right: Json) -> list[str]:
    """Paths of the leaves in which two values differ."""
    mine, theirs = dict(_paths(left)), dict(_paths(right))
    missing = object()
    return [
        path
        for path in dict.fromkeys([*mine, *theirs])
        if mine.get(path, missing) is missing
        or theirs.get(path, missing) is missing
        or not same(mine[path], theirs[path])
    ]


def _paths(value: Json, at: str = "") -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict) and value:
        for name, child in value.items():
            yield from _paths(child, f"{at}/{name}")
    elif isinstance(value, list) and value:
        for index, child in enumerate(value):
            yield from _paths(child, f"{at}/{index}")
    else:
        yield at, value


def _mismatch(
    task: str, number: int, call: RecordedCall, reply: SimulatedReply | None, failed: SimulationFailed | None
) -> Mismatch:
    recorded: JsonObject = {
        "response": call.response,
        "updates": [update.as_json() for update in call.updates],
    }
    simulated: JsonObject = {
        "response": reply.response if reply else None,
        "updates": [update.as_json() for update in reply.updates] if reply else [],
    }
    mine, theirs = dict(_paths(simulated)), dict(_paths(recorded))
    differences = tuple(
        f"{path}: {_value_text(theirs, path)} recorded, {_value_text(mine, path)} simulated"
        for path in different_paths(recorded, simulated)[:SHOWN_DIFFERENCES]
    )
    if failed is not None:
        differences = (f"it cannot be answered: {failed}", *differences)
    return Mismatch(
        task=task,
        call=number,
        arguments=call.arguments,
        recorded=recorded,
        simulated=simulated,
        differences=differences,
    )


def _value_text(values: Mapping[str, Json], path: str) -> str:
    return repr(values[path])[:80] if path in values else "nothing"


def _text(value: Json) -> str:
    return str(value)


def _as_recorded(call: RecordedCall) -> SimulatedReply:
    return SimulatedReply(500 if call.is_error else 200, call.response, call.updates)


def numbered_calls(task: RecordedTask) -> Iterator[tuple[int, RecordedCall]]:
    return enumerate(task.calls, start=1)
