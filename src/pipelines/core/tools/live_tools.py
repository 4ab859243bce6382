"""Live tools: what an endpoint offers, a call that is passed on to it, and its reply."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, NamedTuple, Protocol, TypeAlias

from pipelines.core.text.json_text import Json, JsonObject, canonical
from pipelines.core.text.stored import known_fields
from pipelines.core.tools.trace_row import ERROR_NOTE as ERROR_NOTE
from pipelines.wire.errors import AskFailed
from pipelines.wire.records import Record

#: How a run's calls of passthrough tools are answered; all but the first name a cassette.
LIVE, RECORD, REPLAY, REPLAY_OR_LIVE = "live", "record", "replay", "replay_or_live"
PASSTHROUGH_MODES = (LIVE, RECORD, REPLAY, REPLAY_OR_LIVE)
LONGEST_HOP_S = 60.0
MOST_TOOL_BYTES = 256 * 1024  # of what describes one tool: each is read and listed whole; GitHub's have 70 KB
CARRIED_WITHIN_S = LONGEST_HOP_S + 15.0  # with opening the endpoint and writing down what came of it
#: Of a call that was sent and not answered.
MAY_BE_DONE = "the call may have been carried out"


@dataclass(frozen=True, kw_only=True, slots=True)
class DiscoveredTool(Record, component=""):
    """A tool as it was accepted."""

    name: Annotated[str, "what `tool_name` of a binding names"]
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None = None
    #: How to call it, for whoever found it: a method and a path, or the name that the endpoint itself uses.
    call: Annotated[JsonObject, "how the endpoint is called for it: a method and path, or its own name"] = (
        field(default_factory=dict)
    )

    @property
    def fingerprint(self) -> str:
        """Changes when what a caller may rely on does."""
        body: JsonObject = {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
        }
        return sha256(canonical(body)).hexdigest()

    @classmethod
    def from_stored(cls, body: Json) -> "DiscoveredTool":
        return cls(**known_fields(cls, body))


@dataclass(frozen=True, kw_only=True, slots=True)
class Discovery:
    """Everything found on an endpoint; `notes` say what could not be made a tool or got another name."""

    tools: tuple[DiscoveredTool, ...]
    notes: tuple[str, ...] = ()


class LiveReply(NamedTuple):
    """What a live endpoint answered, or answered when it was recorded."""

    status: int  # its own where it speaks HTTP, an error too; 200 elsewhere
    response: Json  # decoded; text stays text
    notes: tuple[str, ...] = ()  # for the trace
    is_replayed: bool = False

    @property
    def is_error(self) -> bool:
        """By its status or, where that cannot say so, by the note that a cassette keeps with it."""
        return self.status >= 400 or ERROR_NOTE in self.notes


class LiveCallFailed(AskFailed):
    """No usable answer came, now or when it was recorded. The message is for the agent; `notes` are for the
    trace alone."""

    def __init__(self, message: str, *, notes: tuple[str, ...] = (), is_replayed: bool = False) -> None:
        super().__init__(message)
        self.notes = notes
        self.is_replayed = is_replayed


class LiveEndpoint(Protocol):
    """One endpoint as it can be asked. Used by many calls at once, and closed when it is no longer needed."""

    async def discover(self) -> Discovery:
        """Raises HopFailed."""

    async def call(self, tool: DiscoveredTool, arguments: JsonObject) -> LiveReply:
        """Raises HopFailed. Cancelling ends it at the endpoint too, as far as its protocol can."""

    async def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointValues:
    """All that a live endpoint is made of: nothing of it is read from a database any more."""

    endpoint_id: str
    org_id: int
    version: int
    config: JsonObject  # whole, with what is large of it
    auth_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: What the config's `env_vars` name: values by the credentials' names, and by the variables'.
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: All credentials that are in the above, by their names: what it says must have none of them.
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)


#: Makes the endpoints of one type. Raises HopFailed where this server cannot.
EndpointMaker: TypeAlias = Callable[[EndpointValues], LiveEndpoint]


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveCall:
    """The question that a passthrough tool's call puts to its endpoint, or to the run's cassette."""

    org_id: int
    run_id: int
    endpoint_id: str
    tool_name: str  # on the endpoint
    declared_name: str  # of the agent's tool
    arguments: JsonObject
    mode: str = LIVE
    cassette: str | None = None
    #: How many times the run asked the same of the same tool before: 0 for the first.
    asked_before: int = 0
    longest_s: float = CARRIED_WITHIN_S
