"""Runs whose tools are being called: their folded state in memory, rebuilt from the log when it is not.

The database is the truth. What is here may be dropped at any moment and costs one reload.
"""

import asyncio
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, TypeVar

from pipelines.core.agents.agent_config import AgentConfig
from pipelines.core.calls.called_run import RUN_BYTES, VALUES_PER_TEXT, CalledRun
from pipelines.core.calls.run_moment import seed_name, start_of
from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.models.model_question import Purpose
from pipelines.core.models.simulator_choice import AUTO, MODEL
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.by_model.added_text import with_added_text
from pipelines.core.simulation.by_model.calls_so_far import MOST_BYTES as CALLS_BYTES
from pipelines.core.simulation.by_model.calls_so_far import CallsSoFar
from pipelines.core.simulation.by_model.model_call import RunContext
from pipelines.core.simulation.by_model.simulator import ModelSimulator, left_to_model
from pipelines.core.simulation.guessed_refusals import Refusal
from pipelines.core.simulation.guesses import assumption_warnings, guesses_of, refusal_warnings
from pipelines.core.simulation.large_worlds import prepare
from pipelines.core.simulation.live_simulator import PassthroughRun, with_live_tools
from pipelines.core.simulation.rules.axis import active_rules
from pipelines.core.simulation.rules.language.to_sentence import to_sentence
from pipelines.core.simulation.sentences import unenforced
from pipelines.core.simulation.simulator import Simulator
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.core.tools.failure_rules import RuleProgress, chance_of
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.tools.trace_row import OUTCOME_UNKNOWN, TraceRow
from pipelines.engine.live.call_queue import CallQueue
from pipelines.engine.live.call_turns import CallTurns
from pipelines.engine.live.plan_readers import PlanReaders
from pipelines.engine.live.rate_limited_runs import RateLimitedRuns
from pipelines.engine.live.time_limit import has_time
from pipelines.engine.model_calls.ask_models import Models
from pipelines.engine.model_calls.model_tallies import ModelTallies
from pipelines.storage.agents.agents import Agent, agent_by_id
from pipelines.storage.agents.authored_rules import rules_in_force
from pipelines.storage.agents.tool_endpoints import endpoint_by_name
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.database.trace_rows import read_log
from pipelines.storage.runs.runs import NewRun, Run, run_by_token_hash
from pipelines.storage.tasks.datasets import models_of_dataset, world_by_hash, world_size
from pipelines.storage.tasks.texts import named
from pipelines.wire.errors import OutcomeUnknown, RunNotActive, StorageUnavailable
from pipelines.wire.names import RunStatus

MAX_LIVE_RUNS = 20_000
MAX_DEADLINES = 5 * MAX_LIVE_RUNS  # of runs that are open; a hundred bytes each
MAX_LIVE_BYTES = 1024 * 1024 * 1024
FILL_AFTER_EVICTION = 0.9  # when runs make room, so that the next does not have to at once
UNWEIGHED_BYTES = 4_096  # by which a run may have grown before it is weighed again
MOST_READING_S = 10.0  # of a run's behaviour text; a page of it for fifty tools takes one
MAX_SHARED = 64  # worlds and toolboxes kept when no live run holds them
T = TypeVar("T")


class Toolbox(NamedTuple):
    """What one agent version declares, compiled once for all its runs."""

    tools: Mapping[str, Tool]
    ledger_schema: LedgerSchema | None
    config: AgentConfig
    rules: tuple[JsonObject, ...] = ()  # as written: they hold for all tasks


class LoadedAt(NamedTuple):
    """One moment by two clocks. The time of day may be set while we run; the steady one only goes on."""

    shared: datetime  # by the clock that all nodes share
    steady: float


@dataclass(slots=True, kw_only=True)
class LiveRun(CalledRun):
    """A run in memory: beside its state, what finding, ending and storing it take."""

    id: int
    org_id: int
    jti: str
    token_hash: str
    toolbox: Toolbox
    ends_at: float  # by the steady clock: when its token expires
    loaded_at: "LoadedAt"
    is_active: bool
    world_hash: str | None = None
    world_bytes: int = 0
    weighed: int = 0  # of its weight, what is in the sum of all
    is_forgotten: bool = False  # no longer what the registry answers with: read it anew
    unstored: int = 0  # rows handed to storage and not yet durable
    queue: CallQueue | None = None  # while something is asked for one of its calls
    recent_calls: deque[float] = field(default_factory=deque)
    recent_events: deque[float] = field(default_factory=deque)

    def shared_time(self, steady: float) -> str:
        """That moment by the clock that all nodes share, as far as this run knows it."""
        moment = self.loaded_at.shared + timedelta(seconds=steady - self.loaded_at.steady)
        return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"

    def abandon(self, error: Exception) -> None:
        """Whoever waits for what was asked is told this instead."""
        if self.queue is not None:
            self.queue.abandon(error)


class LiveCounts(NamedTuple):
    """What this process has in memory at one moment."""

    runs: int
    bytes: int  # with their worlds, as estimated
    calls_waiting: int  # for something outside, or behind one that does
    rows_unstored: int


class LiveRuns:
    """Finds the live run of a token, loading it once however many calls ask at the same time."""

    def __init__(
        self,
        database: Database,
        *,
        now: Callable[[], str],
        node: str = "local",
        plan_readers: PlanReaders | None = None,
        steady: Callable[[], float] = time.monotonic,
        simulator_models: Models | None = None,
        most_bytes: int = MAX_LIVE_BYTES,
    ) -> None:
        """`node` names this process among those that work on the same database. `steady` is the clock by
        which runs end. `simulator_models` answer what no plan covers. `most_bytes` bounds the estimated size
        of all runs in memory with their worlds."""
        self._database = database
        self._plan_readers = plan_readers or PlanReaders()
        self._now = now
        self.steady = steady
        self.turns = CallTurns()
        self.rate_limited = RateLimitedRuns()
        self.models = ModelTallies()
        self._node = node
        self._by_token: OrderedDict[str, LiveRun] = OrderedDict()
        self._token_of: dict[int, str] = {}
        self._loading: dict[str, asyncio.Future[bool]] = {}
        self._unstored: dict[str, int] = {}  # tokens of runs dropped while rows of them were under way
        #: When runs end, by the steady clock; also of those that are not in memory: how long one lives is
        #: worked out once, however its row and the time of day compare later.
        self._deadlines: OrderedDict[int, float] = OrderedDict()
        self._ended: set[int] = set()  # while runs are being loaded: one of them may be read as it was before
        self._shared = _SharedParts(simulator_models or Models())
        self._most_bytes = most_bytes
        self._bytes = 0
        self._runs_in: Counter[str | None] = Counter()  # by world
        database.on_lost = self.forget

    def counts(self) -> LiveCounts:
        lives = self._by_token.values()
        return LiveCounts(
            len(lives),
            self._bytes,
            sum(live.queue.calls_waiting for live in lives if live.queue is not None),
            sum(live.unstored for live in lives),
        )

    def expect_end(self, run_id: int, ends_at: float) -> None:
        """A run was opened or claimed here, and expires at this moment of the steady clock."""
        self._deadlines[run_id] = ends_at
        if len(self._deadlines) > MAX_DEADLINES:
            self._deadlines.popitem(last=False)

    def postpone_end(self, run_id: int, seconds: float) -> None:
        """Time went by that was not the agent's."""
        if run_id in self._deadlines:
            self._deadlines[run_id] += seconds
        token_hash = self._token_of.get(run_id)
        if token_hash is not None:
            self._by_token[token_hash].ends_at += seconds

    def get(self, token_hash: str) -> LiveRun | None:
        live = self._by_token.get(token_hash)
        if live is not None:
            self._by_token.move_to_end(token_hash)
        return live

    async def loaded(self, token_hash: str) -> LiveRun | None:
        """The run of a token, brought into memory where it is not; None when no run has this token."""
        while (live := self.get(token_hash)) is None:
            if not await self.load(token_hash):
                return None
        return live

    async def load(self, token_hash: str) -> bool:
        """Bring a run into memory; False when no run has this token. Ask `get` again afterwards."""
        under_way = self._loading.get(token_hash)
        if under_way is None:
            under_way = asyncio.ensure_future(self._load(token_hash))
            self._loading[token_hash] = under_way
            under_way.add_done_callback(partial(self._on_loaded, token_hash))
        return await asyncio.shield(under_way)

    def _on_loaded(self, token_hash: str, under_way: "asyncio.Future[bool]") -> None:
        if not under_way.cancelled():
            under_way.exception()  # is seen, also where all who asked have hung up meanwhile
        del self._loading[token_hash]
        if not self._loading:
            self._ended.clear()

    async def _load(self, token_hash: str) -> bool:
        if token_hash in self._unstored:
            await self._database.write(lambda connection: None)  # groups are committed in order
            self._unstored.pop(token_hash, None)
        live = await self._database.read(lambda connection: self._read(connection, token_hash))
        if isinstance(live, Run):
            await self.make_ready(live)
            live = await self._database.read(lambda connection: self._read(connection, token_hash, True))
        if live is None:
            return False
        assert isinstance(live, LiveRun)
        live.is_active = live.is_active and live.id not in self._ended
        if live.is_active:
            live.ends_at = self._deadlines.get(live.id, live.ends_at)
            self.expect_end(live.id, live.ends_at)
        self._by_token[token_hash] = live
        self._token_of[live.id] = token_hash
        self._runs_in[live.world_hash] += 1
        if self._runs_in[live.world_hash] == 1:
            self._bytes += live.world_bytes
        self.weigh(live)
        return True

    def weigh(self, live: LiveRun) -> None:
        """It has grown: others may have to make room."""
        if live.is_forgotten:
            return
        self._bytes += live.weight - live.weighed
        live.weighed = live.weight
        if self._bytes > self._most_bytes or len(self._by_token) > MAX_LIVE_RUNS:
            self._make_room(live)

    def _make_room(self, but: LiveRun) -> None:
        """Drop the runs longest not asked for; one with rows under way would come back without them."""
        for live in list(self._by_token.values()):
            if self._bytes <= FILL_AFTER_EVICTION * self._most_bytes and len(self._by_token) <= MAX_LIVE_RUNS:
                break
            if not live.unstored and live.queue is None and live is not but:
                self.forget({live.id})

    async def make_ready(self, run: Run | NewRun) -> None:
        """Read its tools, world and plans on threads for that: the database's readers serve everybody."""
        if not self._shared.is_ready(run):
            found = await self._database.read(lambda connection: self._shared.find(connection, run))
            await self._plan_readers.run(partial(self._shared.make, run, found), owner=run.org_id)

    def _read(self, connection: Connection, token_hash: str, may_make: bool = False) -> LiveRun | Run | None:
        """The run as it is in memory; as it is in the database, where it has to be made ready first."""
        run = run_by_token_hash(connection, token_hash)
        if run is None or not (may_make or self._shared.is_ready(run)):
            return run
        now = self._database.time(connection, self._now())
        loaded_at = LoadedAt(datetime.fromisoformat(now), self.steady())
        live = self._shared.open(connection, run, token_hash, loaded_at)
        for row in read_log(connection, run.id):
            if live.is_active and row.error_code == OUTCOME_UNKNOWN and self._is_answered_elsewhere(row, now):
                raise StorageUnavailable(
                    "Another server is still answering an earlier call of this run; try again."
                )
            live.fold(row)
            if row.idempotency_key is not None:
                live.settled(row.idempotency_key)
        return live

    def _is_answered_elsewhere(self, row: TraceRow, now: str) -> bool:
        """Whether another process may still store the outcome of a call it has passed on. Of this one's own
        calls, those that are not in memory any more were given up."""
        body: Any = loads_own(row.response or "{}")
        details = body["error"].get("details")
        return bool(details and details["by"] != self._node and now < details["until"])

    def tools_and_world(self, connection: Connection, run: Run) -> tuple[Toolbox, World]:
        """What a run is judged against: its tools and the world it started from. For reader threads."""
        return self._shared.tools_and_world(connection, run)

    def unenforced_warnings(self, connection: Connection, run: Run | NewRun) -> list[str]:
        """What the simulated backend does not enforce in a run, in warnings. For reader threads."""
        if run.seed.behavior_instructions is None:
            return []
        simulator = self._shared.simulator(connection, run)
        texts: list[str] = []
        if not self._is_answered_by_model(connection, run):
            texts = [one.words if one.is_typed else f"behaviour {one.words}" for one in unenforced(simulator)]
        return texts + [f"behaviour {sentence} ({how})" for sentence, how in simulator.uniform.items()]

    def unenforced_sentences(self, connection: Connection, run: Run) -> tuple[str, ...]:
        """The sentences themselves, for the judge. For reader threads."""
        if run.seed.behavior_instructions is None or self._is_answered_by_model(connection, run):
            return ()
        return self._shared.simulator(connection, run).unenforced

    def enforced_sentences(self, connection: Connection, run: Run) -> tuple[str, ...]:
        """The rules that the plans enforce, each as its canonical sentence. For reader threads."""
        simulator = self._shared.simulator(connection, run)
        return tuple(f"{to_sentence(rule, simulator.vocabulary)}." for rule in simulator.enforced)

    def _is_answered_by_model(self, connection: Connection, run: Run | NewRun) -> bool:
        toolbox, _ = self._shared.tools_and_world(connection, run)
        return self._shared.has_model(toolbox, _named_models(connection, run, toolbox))

    def guess_warnings(
        self,
        connection: Connection,
        run: Run,
        called: Collection[str],
        refused: Collection[tuple[str, Refusal]],
    ) -> list[str]:
        """Tools that the run called and that were answered, or refused, by a guess. For reader threads."""
        simulator = self._shared.simulator(connection, run)
        toolbox, _ = self._shared.tools_and_world(connection, run)
        named = _named_models(connection, run, toolbox)
        by_model = self._shared.left_to_model(toolbox, simulator, named)
        called = [name for name in called if name not in by_model]
        refused = [one for one in refused if one[0] not in by_model]
        guessed = guesses_of(simulator, called)
        texts = [f"{one.as_text()}; to confirm it, give {one.settled_by}" for one in guessed]
        return [*texts, *assumption_warnings(simulator, called), *refusal_warnings(simulator, refused)]

    def forget(self, run_ids: set[int]) -> None:
        self._ended -= run_ids
        for run_id in run_ids:
            self._drop(run_id)

    def _drop(self, run_id: int) -> None:
        token_hash = self._token_of.pop(run_id, None)
        if token_hash is not None:
            live = self._by_token.pop(token_hash)
            live.is_forgotten = True
            self._unweigh(live)
            if live.unstored:
                self._unstored[token_hash] = run_id
            live.abandon(OutcomeUnknown())

    def _unweigh(self, live: LiveRun) -> None:
        self._bytes -= live.weighed
        self._runs_in[live.world_hash] -= 1
        if not self._runs_in[live.world_hash]:
            del self._runs_in[live.world_hash]
            self._bytes -= live.world_bytes

    def abandon_all(self) -> None:
        """The server stops: nobody waits any longer for what was asked."""
        for live in list(self._by_token.values()):
            live.abandon(OutcomeUnknown())

    def deactivate(self, run_id: int) -> None:
        """From now on its tools answer run_not_active."""
        if self._loading:
            self._ended.add(run_id)
        token_hash = self._token_of.get(run_id)
        if token_hash is not None:
            live = self._by_token[token_hash]
            live.is_active = False
            live.abandon(RunNotActive())

    def let_go(self, run_id: int) -> None:
        """It has ended and its row says so: what is read from now on is right, what is being read is not."""
        self._deadlines.pop(run_id, None)
        self.rate_limited.forget(run_id)
        self.models.forget(run_id)
        self.deactivate(run_id)
        self._drop(run_id)
        if run_id in self._unstored.values():  # no call will be decided on it any more
            self._unstored = {token: other for token, other in self._unstored.items() if other != run_id}

    async def close(self, run_id: int) -> None:
        """Deactivate a run and wait until every call it has answered is stored."""
        self.deactivate(run_id)
        token_hash = self._token_of.get(run_id)
        if token_hash is not None and self._by_token[token_hash].unstored:
            await self._database.write(lambda connection: None)  # groups are committed in order


class _SharedParts:
    """Worlds, toolboxes and simulators that many runs use. Reader threads make them: hence the lock."""

    def __init__(self, simulator_models: Models) -> None:
        self._simulator_models = simulator_models
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, object] = OrderedDict()

    def has_model(self, toolbox: Toolbox, named: Mapping[Purpose, str]) -> bool:
        """Whether a model answers what plans do not cover."""
        is_there = self._simulator_models.model_for(Purpose.SIMULATOR, named) is not None
        return toolbox.config.simulator == MODEL or (toolbox.config.simulator == AUTO and is_there)

    def left_to_model(
        self, toolbox: Toolbox, simulator: PlannedSimulator, named: Mapping[Purpose, str]
    ) -> Mapping[str, str]:
        """The tools that a model answers, and why each."""
        if not self.has_model(toolbox, named):
            return {}
        return left_to_model(simulator, toolbox.config.simulator)

    def open(self, connection: Connection, run: Run, token_hash: str, loaded_at: LoadedAt) -> LiveRun:
        remaining = datetime.fromisoformat(run.expires_at) - loaded_at.shared
        toolbox, world = self.tools_and_world(connection, run)
        simulator = self.simulator(connection, run)
        ledger = Ledger(world)
        task = seed_name(run.odyssey_seed(), run.world_hash)
        named_models = _named_models(connection, run, toolbox)
        by_model = self.left_to_model(toolbox, simulator, named_models)
        calls = CallsSoFar(run.seed.tool_result_addition) if by_model else None
        answering: Simulator = simulator
        if calls is not None:
            answering = ModelSimulator(
                simulator,
                by_model,
                ledger_schema=toolbox.ledger_schema,
                asked_for=RunContext(
                    org_id=run.org_id, run_id=run.id, batch_id=run.batch_id, named=named_models
                ),
                calls=calls,
            )
        return LiveRun(
            id=run.id,
            org_id=run.org_id,
            jti=run.jti,
            token_hash=token_hash,
            toolbox=toolbox,
            simulator=_answer_passthrough_live(connection, run, toolbox, answering),
            calls_so_far=calls,
            weight=RUN_BYTES + (CALLS_BYTES if calls is not None else 0),
            ledger=ledger,
            progress=RuleProgress(
                run.seed.failure_rules, ledger.is_flagged, chance=chance_of(task, run.fault_seed)
            ),
            seed=task,
            began=start_of(datetime.fromisoformat(run.simulated_now)),
            ends_at=loaded_at.steady + remaining.total_seconds(),
            loaded_at=loaded_at,
            is_active=run.status is RunStatus.RUNNING,
            world_hash=run.world_hash,
            world_bytes=world_size(connection, run.world_hash) * VALUES_PER_TEXT,
        )

    def simulator(self, connection: Connection, run: Run | NewRun) -> PlannedSimulator:
        known = self._kept_part(_simulator_key(run))
        return known if isinstance(known, PlannedSimulator) else self.make(run, self.find(connection, run))

    def tools_and_world(self, connection: Connection, run: Run | NewRun) -> tuple[Toolbox, World]:
        toolbox, world = self._kept_part(_tools_key(run)), self._kept_part(_world_key(run))
        if not isinstance(toolbox, Toolbox) or not isinstance(world, World):
            return self._make_tools_and_world(run, self.find(connection, run))
        return toolbox, world

    def is_ready(self, run: Run | NewRun) -> bool:
        """Whether nothing of it has to be read at length."""
        keys = (_tools_key(run), _world_key(run), _simulator_key(run))
        return all(self._kept_part(key) is not None for key in keys)

    def find(self, connection: Connection, run: Run | NewRun) -> "_StoredParts":
        """What is stored of all this, where it is not at hand. For the database's readers: quick."""
        has_tools = self._kept_part(_tools_key(run)) is not None
        has_world = self._kept_part(_world_key(run)) is not None
        return _StoredParts(
            None if has_tools else _agent(connection, run),
            None if has_world else world_by_hash(connection, run.world_hash),
            _accepted_rules(connection, run) if run.rules_version else {},
        )

    def make(self, run: Run | NewRun, found: "_StoredParts") -> PlannedSimulator:
        """Read it: long, and outside the lock, since making something twice only costs the time."""
        toolbox, world = self._make_tools_and_world(run, found)
        rules = found.translated
        return self._keep_first(_simulator_key(run), lambda: _simulator(toolbox, world, run.seed, rules))

    def _make_tools_and_world(self, run: Run | NewRun, found: "_StoredParts") -> tuple[Toolbox, World]:
        agent, state, _ = found
        toolbox = self._keep_first(_tools_key(run), lambda: _toolbox(agent))
        return toolbox, self._keep_first(_world_key(run), lambda: World.from_initial_state(state or {}))

    def _kept_part(self, key: Hashable) -> object | None:
        with self._lock:
            return self._kept.get(key)

    def _keep_first(self, key: Hashable, make: Callable[[], T]) -> T:
        known = self._kept_part(key)
        first = known if known is not None else make()
        with self._lock:
            kept = self._kept.setdefault(key, first)
            self._kept.move_to_end(key)
            while len(self._kept) > MAX_SHARED:
                self._kept.popitem(last=False)
        return kept  # type: ignore[return-value]  # the key says what it holds


class _StoredParts(NamedTuple):
    """What a run's surroundings are read from; None for what is in memory already."""

    agent: Agent | None
    state: JsonObject | None
    translated: Mapping[str, list[Json]]  # rules that were accepted for sentences of its behaviour text


def _named_models(connection: Connection, run: Run | NewRun, toolbox: Toolbox) -> Mapping[Purpose, str]:
    """What agent and dataset name in place of the server's; the dataset has the last word."""
    own = models_of_dataset(connection, run.dataset_id)
    return {**toolbox.config.models, **{Purpose(purpose): str(model) for purpose, model in own.items()}}


def _accepted_rules(connection: Connection, run: Run | NewRun) -> Mapping[str, list[Json]]:
    text = run.seed.behavior_instructions
    if text is None:
        return {}
    return rules_in_force(connection, dataset_id=run.dataset_id, version=run.rules_version, behavior=text)


def _answer_passthrough_live(
    connection: Connection, run: Run, toolbox: Toolbox, simulator: Simulator
) -> Simulator:
    """What answers this one run: its passthrough tools by the endpoints they are bound to."""
    passing = PassthroughRun(
        org_id=run.org_id,
        run_id=run.id,
        endpoint_ids=_endpoint_ids(connection, run.org_id, toolbox.tools),
        mode=run.passthrough,
        cassette=run.cassette,
    )
    live = with_live_tools(simulator, toolbox.tools, toolbox.ledger_schema, passing)
    return with_added_text(live, toolbox.tools, run.seed.tool_result_addition)


def _endpoint_ids(connection: Connection, org_id: int, tools: Mapping[str, Tool]) -> dict[str, str]:
    """Of the tools that are passed through; of an endpoint that is gone, its name: the call will say so."""
    ids: dict[str, str] = {}
    for tool in tools.values():
        binding = tool.passthrough_binding
        if not tool.is_passthrough or binding is None:
            continue
        found = binding.endpoint_id
        if found is None and binding.endpoint_name is not None:
            endpoint = endpoint_by_name(connection, org_id, binding.endpoint_name)
            found = endpoint.id if endpoint is not None else binding.endpoint_name
        ids[tool.name] = found or ""
    return ids


def _tools_key(run: Run | NewRun) -> Hashable:
    return ("tools", run.org_id, run.agent_id, run.agent_version)


def _world_key(run: Run | NewRun) -> Hashable:
    return ("world", run.world_hash)


def _simulator_key(run: Run | NewRun) -> Hashable:
    translated = (run.dataset_id, run.rules_version) if run.rules_version else None
    own = named(dumps([*run.seed.rules])).hash if run.seed.rules else None  # the agent's are its version's
    read = (run.seed.behavior_instructions, run.seed.strict_simulation, translated, own)
    return ("simulator", run.org_id, run.agent_id, run.agent_version, run.world_hash, *read)


def _agent(connection: Connection, run: Run | NewRun) -> Agent:
    agent = agent_by_id(connection, org_id=run.org_id, agent_id=run.agent_id, version=run.agent_version)
    assert agent is not None, "a run's agent version is never deleted"
    return agent


def _toolbox(agent: Agent | None) -> Toolbox:
    assert agent is not None, "found where it is not at hand"
    definition = agent.definition
    for tool in definition.tools:
        tool.compile()  # now, on a thread, rather than on the loop at the first call
    return Toolbox(
        {tool.name: tool for tool in definition.tools},
        definition.ledger_schema,
        definition.config,
        definition.rules,
    )


def _simulator(
    toolbox: Toolbox, world: World, seed: Seed, rules: Mapping[str, list[Json]]
) -> PlannedSimulator:
    """Every plan is read now, on the thread that loads the run, rather than on the loop at its first call."""
    simulator = build_simulator(
        tuple(toolbox.tools.values()),
        ledger_schema=toolbox.ledger_schema,
        world=world,
        behavior=seed.behavior_instructions,
        may_read=has_time(MOST_READING_S),
        is_strict=seed.strict_simulation,
        translated=rules,
        rules=active_rules(toolbox.rules, seed.rules),
    )
    plans = [plan for name in toolbox.tools if (plan := simulator.plan_of(name).plan) is not None]
    for plan in plans:
        plan.code  # noqa: B018 - compiled when it is first looked at
    prepare(world, [plan.steps for plan in plans])
    simulator.vocabulary  # noqa: B018 - its time to read is measured in this thread
    return simulator
