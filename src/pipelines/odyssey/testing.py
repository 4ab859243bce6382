"""An Odyssey inside a unit test: simulated tools, failures, ledger and verdict; no socket and no database.

The decisions are the server's own (pipelines.core), so this module alone of the SDK needs the whole package
installed. What is not here: rate limits, tokens, other people's runs.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import unquote

from pipelines.core.agents.agent_reply import BadReply, answer_in, read_reply_fields
from pipelines.core.calls.called_run import CalledRun, KeptReply, OldKey
from pipelines.core.calls.run_moment import seed_name, start_of, world_name
from pipelines.core.calls.tool_call import (
    ReceivedCall,
    Reply,
    ToolCall,
    decide_without_asking,
    receive,
    reply_of,
    row_of,
    text_of,
)
from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.ledger.ledger_schema import LedgerSchema, parse_ledger_schema
from pipelines.core.proposed_oracles.propose_oracle import ProposedOracle, oracle_from_run
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.rules.axis import active_rules
from pipelines.core.task_files.read_tasks import parse_tasks
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.core.text.problems import Refused
from pipelines.core.tools.failure_rules import RuleProgress, chance_of
from pipelines.core.tools.tools_schema import Tool, parse_tools_schema
from pipelines.core.tools.trace_event import check_event_type, event_time, read_event
from pipelines.core.tools.trace_row import TOOL_CALL, TraceRow
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.verdict import JudgeError, Verdict

from ..wire.actor import is_actor_id
from ..wire.envelope import Envelope, ErrorClass
from ..wire.errors import (
    ActorIdInvalid,
    AskFailed,
    BadRequest,
    BodyTooLarge,
    IdempotencyKeyReused,
    Invalid,
    MethodNotAllowed,
    NotFound,
    OdysseyError,
    SimulationError,
)
from ..wire.names import HEADER_ACTOR_ID, HEADER_IDEMPOTENCY_KEY, MAX_BODY_BYTES, RunStatus
from .context import set_current
from .handler import Dispatcher, Handler
from .transport import IN_PROCESS, HttpReply, HttpRequest, answerers

DEFAULT_NOW = "2026-01-01T12:00:00Z"
Row = dict[str, Any]

#: The statuses that the server's proxy answers these with; a test holds them against the server's own table.
_STATUS: dict[type[OdysseyError], int] = {
    BodyTooLarge: 413,
    BadRequest: 400,
    NotFound: 404,
    MethodNotAllowed: 405,
    IdempotencyKeyReused: 409,
    Invalid: 422,
    SimulationError: 502,
    AskFailed: 502,
}
_numbers = count(1)


class BadTask(ValueError):
    """The tools or the task cannot be used; the message has every problem with its place."""

    def __init__(self, refused: Refused) -> None:
        lines = [f"{problem.path or 'the whole'}: {problem.message}" for problem in refused.problems]
        super().__init__("\n  ".join([str(refused), *lines]))


@contextmanager
def odyssey_run(
    *,
    tools_schema: Sequence[Mapping[str, Any]],
    user: str = "A test.",
    state: Mapping[str, Any] | None = None,
    ledger_schema: Mapping[str, Any] | None = None,
    now: str | None = None,
    **columns: Any,
) -> Iterator["InProcessRun"]:
    """A run whose tools answer in this process; its envelope is bound inside the block.

        def test_refunds_what_may_be_refunded():
            with odyssey_run(
                tools_schema=TOOLS,
                user="Refund order 4521.",
                state={"order": {"4521": {"status": "shipped"}}},
                expected_state={"order.4521.status": "refunded"},
            ) as run:
                answer = my_agent(run.envelope.user_instruction)
            assert run.verdict(answer).verdict == "PASS"

    `columns` are the other columns of a task: behavior, rules, failure_rules, expected_state, expected_calls,
    expected_answer, expected_outcome, task_input, … with JSON values. `now` is the time in the run's world;
    without it that is noon of 2026-01-01, so that a test that passes today passes tomorrow. Whatever
    `proxy_call`, `post_trace_event` and their twins do goes to this run, also from threads that have its
    envelope. The same task with the same `now` gives the same replies here and on the server. Raises BadTask
    for what an upload would refuse.
    """
    row = {"user": user, "state": None if state is None else dict(state), "now": now, **columns}
    with seed_run(_read_task(tools_schema, row, ledger_schema)) as run:
        yield run


class Task(NamedTuple):
    """A task that was read and checked, with the tools of its agent."""

    tools: tuple[Tool, ...]
    ledger_schema: LedgerSchema | None
    seed: Seed
    rules: tuple[JsonObject, ...] = ()  # of its agent


@contextmanager
def seed_run(task: Task, *, fault_seed: int = 0) -> Iterator["InProcessRun"]:
    """`odyssey_run` for a task that is read already; `fault_seed` gives random failure rules other draws."""
    run = _open_run(task, fault_seed)
    name = run.envelope.odyssey_proxy_url.removeprefix(f"{IN_PROCESS}://")
    answerers[name] = run._answer
    try:
        with set_current(run.envelope):
            yield run
    finally:
        del answerers[name]


class _Toolbox(NamedTuple):
    tools: Mapping[str, Tool]
    ledger_schema: LedgerSchema | None


class InProcessRun:
    """A run of `odyssey_run`: what happened in it, and what it proves. Readable after its block too."""

    def __init__(self, seed: Seed, live: CalledRun, envelope: Envelope) -> None:
        #: What the agent is given. Bound inside the block; hand it to threads that the agent starts.
        self.envelope = envelope
        self._seed = seed
        self._live = live
        self._rows: list[TraceRow] = []
        self._lock = threading.Lock()

    @property
    def trace(self) -> list[Row]:
        """Every tool call and event in the order they happened, as `GET /api/runs/{id}/trace` shows them."""
        ordered = sorted(self._rows, key=lambda row: (row.occurred_at, row.sequence))
        return [row.as_json() for row in ordered]

    @property
    def calls(self) -> list[Row]:
        """The tool calls among the trace."""
        return [row for row in self.trace if row["kind"] == TOOL_CALL]

    @property
    def ledger(self) -> Row:
        """The world as it is now: `{entity_type: {id: attributes}}`."""
        return self._live.ledger.as_state()

    @property
    def flags(self) -> list[str]:
        """The flags that are set now."""
        return list(self._live.ledger.flags())

    @property
    def not_understood(self) -> tuple[str, ...]:
        """Sentences of the behaviour text that the simulated backend does not enforce."""
        simulator = self._live.simulator
        return simulator.not_understood if isinstance(simulator, PlannedSimulator) else ()

    def _unenforced(self) -> tuple[str, ...]:
        simulator = self._live.simulator
        return simulator.unenforced if isinstance(simulator, PlannedSimulator) else ()

    def dispatch(self, handler: Handler) -> Row:
        """Give the run to a handler as the platform would, and return its whole answer.

            answer = run.dispatch(my_handler)
            assert run.verdict(answer).verdict == "PASS"

        Raises RuntimeError where the handler failed or gave no final response.
        """
        answer = Dispatcher(handler=handler, token=None).handle(self.envelope)
        body: Row = loads_own(answer.body)  # type: ignore[assignment]  # written by the desk as an object
        if answer.status != 200:
            raise RuntimeError(body["detail"])
        return body

    def verdict(
        self, final_response: str | Mapping[str, Any] | Sequence[str], *, strict_honesty: bool = False
    ) -> Verdict:
        """What the run proves, judged as on the server: `.verdict`, `.failure_mode`, `.reasoning`, `.scores`.

            assert run.verdict(["Shall I refund it?", "Order 4521 is refunded."]).verdict == "PASS"

        Of a PENDING one `.pending_reason` says why; `.unverified` lists statements that decide nothing.

        `final_response` is the agent's last word, or its whole answer; of a conversation, what it said in
        each turn. With `strict_honesty` the verdict is PENDING if the answer has `unverified` statements.
        Raises RuntimeError when the judge itself breaks: that is neither a pass nor a fail.
        """
        found = judge(replace(self._evidence(final_response), is_strict=strict_honesty))
        if isinstance(found, JudgeError):
            raise RuntimeError(f"the judge broke at {found.step}: {found.message}")
        return found

    def proposed_oracle(self, final_response: str | Mapping[str, Any] | Sequence[str]) -> ProposedOracle:
        """The oracle that this run proves, for a run that you accept as right.

            found = run.proposed_oracle(answer)
            print(found.axes)  # {"expected_outcome": …, "expected_state": …, "expected_calls": …, …}
            assert not found.is_vacuous

        `.axes` are columns of a task, null where the run says nothing of one; `.notes` say what is left open;
        `.is_vacuous` that an agent which does nothing meets it.
        """
        return oracle_from_run(self._evidence(final_response))

    def _evidence(self, final_response: str | Mapping[str, Any] | Sequence[str]) -> RunEvidence:
        *earlier, last = _as_turns(final_response)
        reply = read_reply_fields(last)
        is_bad = isinstance(reply, BadReply)
        return RunEvidence.from_seed(
            self._seed,
            tools=tuple(self._live.toolbox.tools.values()),
            world=self._live.ledger.world,
            trace=tuple(EvidenceRow.from_json(row.as_json()) for row in self._rows),
            responses=()
            if isinstance(reply, BadReply)
            else (*(turn["final_response"] for turn in earlier), reply.final_response),
            status=RunStatus.FAILED if is_bad else RunStatus.COMPLETED,
            error_class=ErrorClass.AGENT_BAD_RESPONSE if is_bad else None,
            now=self._seed.now or DEFAULT_NOW,
            answer=None if isinstance(reply, BadReply) else answer_in(reply.metadata),
            unenforced=self._unenforced(),
        )

    # -- the proxy

    def _answer(self, request: HttpRequest) -> HttpReply:
        """One at a time, in the order they come, as the calls of a run are answered everywhere."""
        path = request.url.removeprefix(self.envelope.odyssey_proxy_url).strip("/")
        section, _, name = path.partition("/")
        headers = {key.lower(): value for key, value in request.headers.items()}
        actor_id = headers.get(HEADER_ACTOR_ID.lower())
        body = request.body if len(request.body) <= MAX_BODY_BYTES else None
        with self._lock:
            if section == "tools" and name:
                key = headers.get(HEADER_IDEMPOTENCY_KEY.lower())
                return self._tool_call(unquote(name), body, actor_id, key)
            try:
                if section != "traces" or not name:
                    raise NotFound("The proxy has tools/{tool_name} and traces/{event_type}.")
                return self._event(unquote(name), body, actor_id)
            except OdysseyError as error:
                return HttpReply(_status_of(error), {}, dumps({"error": error.as_json()}))

    def _tool_call(self, name: str, body: bytes | None, actor_id: str | None, key: str | None) -> HttpReply:
        live, call = self._live, ToolCall(name, body, actor_id, key, perf_counter())
        arguments, received = receive(live, call)
        if isinstance(received, KeptReply | OldKey):  # every row is at hand here
            return _http_reply(reply_of(self._rows[received.sequence - 1]))
        arrival = received.arrival if isinstance(received, ReceivedCall) else None
        decision, held_ms = (
            decide_without_asking(live, received, "A run inside a test asks nothing outside it.")
            if isinstance(received, ReceivedCall)
            else (received, 0)
        )
        latency_ms = round((perf_counter() - call.started) * 1e3 + held_ms, 3)
        row = row_of(
            1,
            live.sequence + 1,
            call,
            arguments,
            decision,
            arrival,
            latency_ms,
            _timestamp(datetime.now(UTC)),
        )
        live.fold(row, arrival, decision.updates)
        self._rows.append(row)
        return _http_reply(reply_of(row, decision.error))

    def _event(self, event_type: str, body: bytes | None, actor_id: str | None) -> HttpReply:
        check_event_type(event_type)
        if actor_id is not None and not is_actor_id(actor_id):
            raise ActorIdInvalid
        payload = read_event(body)
        text = event_time(payload) or datetime.now(UTC)
        sequence = self._live.sequence + 1
        row = TraceRow(
            1,
            sequence,
            event_type,
            actor_id=actor_id,
            occurred_at=_timestamp(text),
            payload=text_of(payload),
        )
        self._live.fold(row)
        self._rows.append(row)
        return HttpReply(200, {}, dumps({"accepted": True, "sequence": sequence, "event_type": event_type}))


def _as_turns(said: str | Mapping[str, Any] | Sequence[str]) -> list[Row]:
    """What the agent answered, turn by turn; nothing at all is one empty answer."""
    if isinstance(said, Mapping):
        return [dict(said)]
    every = [said] if isinstance(said, str) else list(said)
    return [{"final_response": text} for text in every] or [{"final_response": ""}]


def _http_reply(reply: Reply) -> HttpReply:
    error = reply.error
    return HttpReply(reply.http_status or (200 if error is None else _status_of(error)), {}, reply.body)


def _status_of(error: OdysseyError) -> int:
    return next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)


def _timestamp(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def read_toolbox(
    tools_schema: Json, ledger_schema: Json = None
) -> tuple[tuple[Tool, ...], LedgerSchema | None]:
    """The tools of an agent, or Refused with everything that is wrong with them and with their plans."""
    schema = parse_ledger_schema(ledger_schema)
    tools = parse_tools_schema(tools_schema, ledger_schema=schema)
    names = [tool.name for tool in tools]
    for index, tool in enumerate(tools):
        if tool.simulation is not None:
            path = f"/tools_schema/{index}/simulation"
            parse_plan(tool.simulation, origin="authored", path=path, tool_names=names)
    return tools, schema


def _read_task(
    tools_schema: Sequence[Mapping[str, Any]], row: Row, ledger_schema: Mapping[str, Any] | None
) -> Task:
    try:
        tools, schema = read_toolbox(loads_own(dumps(tools_schema)), loads_own(dumps(ledger_schema)))
        (seed,) = parse_tasks(loads_own(dumps([row])), tools=tools, ledger_schema=schema)
    except Refused as refused:
        raise BadTask(refused) from None
    return Task(tools, schema, seed)


def _open_run(task: Task, fault_seed: int) -> InProcessRun:
    number, seed = next(_numbers), task.seed
    envelope = Envelope(
        run_id=number,
        task_id=number,
        agent_id=1,
        user_instruction=seed.user_instruction,
        odyssey_proxy_url=f"{IN_PROCESS}://run-{number}",
        run_token=f"in-process-{number}",
        run_token_jti=f"in-process-{number}",
        task_input=seed.task_input if seed.task_input is not None else {},
    )
    return InProcessRun(seed, _live(task, fault_seed=fault_seed), envelope)


def _live(opened: Task, *, fault_seed: int) -> CalledRun:
    tools, schema, seed, rules = opened
    world = World.from_initial_state(seed.initial_state)
    ledger = Ledger(world)
    axes = seed.as_json()
    state = axes.pop("initial_state", None)
    task = seed_name(axes, world_name(state) if isinstance(state, dict) else None)
    return CalledRun(
        toolbox=_Toolbox({tool.name: tool for tool in tools}, schema),
        simulator=build_simulator(
            tools,
            ledger_schema=schema,
            world=world,
            behavior=seed.behavior_instructions,
            is_strict=seed.strict_simulation,
            rules=active_rules(rules, seed.rules),
        ),
        ledger=ledger,
        progress=RuleProgress(seed.failure_rules, ledger.is_flagged, chance=chance_of(task, fault_seed)),
        seed=task,
        began=start_of(datetime.fromisoformat(seed.now or DEFAULT_NOW)),
    )
