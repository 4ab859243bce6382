"""The seam between a tool call and whatever answers it in the sandbox."""

from typing import NamedTuple, Protocol

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import Ledger, LedgerUpdate

# Both are made on every call: a named tuple costs a third of a frozen dataclass.


class Moment(NamedTuple):
    """Where in a run a call stands. Ids, times and chance of the call are drawn from this alone."""

    seed: str  # the same for every run of one task
    call_number: int  # 1 for the first call that reached the simulator
    now: str  # ISO-8601, the run's date and time


class SimulatedReply(NamedTuple):
    """What the backend answered. `status` under 400 is a success; updates come only with one."""

    status: int
    response: Json
    updates: tuple[LedgerUpdate, ...] = ()
    engine: str = "embedded"
    computed: frozenset[str] = frozenset()  # fields of the response that are no entity's: they may differ
    notes: tuple[str, ...] = ()  # what was not enforced or not understood, shown in the trace


class SimulationFailed(Exception):
    """The simulator cannot answer this call: no plan makes sense, or the plan broke its budget."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code  # a stable snake_case word


class Simulator(Protocol):
    """All tools of one agent over one world. Pure: it reads the ledger and proposes updates."""

    def answer(self, tool: str, arguments: JsonObject, ledger: Ledger, moment: Moment) -> SimulatedReply: ...
