"""The interface between a tool call and the engine that answers it: at once from a plan, or after a
question."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pipelines.core.ledger.ledger import Ledger, LedgerUpdate
from pipelines.core.simulation.call_history import CallHistory
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.wire.names import Source

# Both are made on every call: a named tuple costs a third of a frozen dataclass.


class Moment(NamedTuple):
    """Where in a run a call stands. Ids, times and chance of the call are drawn from this alone."""

    seed: str  # the same for every run of one task
    call_number: int  # 1 for the first call that reached the simulator
    now: str  # ISO-8601, the run's date and time
    history: CallHistory | None = None  # None: no plan looks back at earlier calls, or there were none


class SimulatedReply(NamedTuple):
    """What the backend answered. `status` under 400 is a success; updates come only with one."""

    status: int
    response: Json
    updates: tuple[LedgerUpdate, ...] = ()
    engine: str = "embedded"
    computed: frozenset[str] = frozenset()  # fields of the response that are no entity's: they may differ
    notes: tuple[str, ...] = ()  # what was not enforced or not read, shown in the trace
    attempts: int = 1  # how often the engine was asked for it
    source: Source = Source.ODYSSEY  # PASSTHROUGH where a live endpoint gave it
    rule: str | None = None  # which rule of the plan answered, in words: for the trace, never for the agent


class SimulationFailed(Exception):
    """The simulator cannot answer this call: no plan makes sense, the plan broke its budget, or a model that
    was asked gave nothing. `message` is for the agent; `problems` and `notes` are for the trace alone."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        engine: str | None = None,
        problems: tuple[Problem, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = code  # a stable snake_case word
        self.engine = engine
        self.problems = problems
        self.notes = notes


class Question(Protocol):
    """What has to be asked outside this process before a call can be answered. Carried out by the engine,
    which knows how by the question's class; here it is only handed through."""

    @property
    def longest_s(self) -> float:
        """When no answer has come by then, none will."""


class Wait(NamedTuple):
    """Nothing is asked of anybody: the reply is held back for a while."""

    latency_ms: int

    @property
    def longest_s(self) -> float:
        return self.latency_ms / 1000 + 1  # a timer never fails; the second is for a loop that is busy


class Simulator(Protocol):
    """All tools of one agent over one world. Pure: it reads the ledger and proposes updates."""

    @property
    def latencies_ms(self) -> Mapping[str, int]:
        """How long the replies of tools are held back, for those that have a latency."""

    @property
    def remembered_tools(self) -> frozenset[str]:
        """Tools whose earlier calls some plan looks at."""

    def reads_world(self, tool: str) -> bool:
        """Whether what it answers or asks at first depends on the calls before being settled."""

    def answer(
        self, tool: str, arguments: JsonObject, ledger: Ledger, moment: Moment
    ) -> SimulatedReply | Question: ...

    def settle(
        self, question: Question, reply: object, ledger: Ledger, moment: Moment
    ) -> SimulatedReply | Question:
        """What comes of the reply to its own question: an answer, or one more question."""

    def again(
        self, tool: str, ledger: Ledger, refused: SimulatedReply, problems: Sequence[Problem]
    ) -> SimulatedReply | Question:
        """Another answer in place of one that contradicts the ledger; `problems` say how. Raises
        SimulationFailed where there is none."""
