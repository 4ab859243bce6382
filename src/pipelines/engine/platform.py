"""What every use case works with, built once by the server (or a test) and handed in."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from pipelines.core.limits.fair_slots import FairSlots
from pipelines.core.tools.live_tools import EndpointMaker
from pipelines.engine.author_tasks import AuthorTasks
from pipelines.engine.judge_tasks import JudgeTasks
from pipelines.engine.limits import Limits
from pipelines.engine.live.cassettes import Cassettes
from pipelines.engine.live.live_runs import LiveRuns
from pipelines.engine.live.plan_readers import PlanReaders
from pipelines.engine.model_calls.ask_models import Models
from pipelines.engine.model_calls.model_gateway import ModelGateway
from pipelines.engine.review_leases import ReviewLeases
from pipelines.engine.workspaces.code_mode import CodeMode, CodeModeStatus
from pipelines.engine.workspaces.prepare_workspace import Workspaces
from pipelines.outbound.address_guard import AddressRefused
from pipelines.outbound.fetch_git import GitFetcher
from pipelines.processes.pool import HelperProcesses
from pipelines.storage.database.database import Database
from pipelines.storage.database.secret_box import SecretBox

# At a time, of all orgs together; see FairSlots for the guests.
JUDGES, JUDGE_GUESTS = 2, 1
JUDGE_ASKS, JUDGE_ASK_GUESTS = 32, 8  # runs held in memory while a model reads them
PROBES, PROBE_GUESTS = 6, 2  # discoveries of tool endpoints, and calls by hand
DISPATCHES, DISPATCH_GUESTS = 1_000, 250  # what the sockets and the memory of one process are good for


def timestamp(moment: datetime) -> str:
    """UTC, fixed width: as text these sort the way time goes."""
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def later(moment: str, seconds: float) -> str:
    return timestamp(datetime.fromisoformat(moment) + timedelta(seconds=seconds))


class WallClock:
    """The time of day as a timestamp: for what is stored and shown. It may be set while we run, so nothing
    that lasts is measured by it. Asked on every tool call, so the second is formatted once."""

    __slots__ = ("_second", "_text")

    def __init__(self) -> None:
        self._second = 0
        self._text = ""

    def __call__(self) -> str:
        now = time.time()
        second = int(now)
        if second != self._second:
            self._second = second
            self._text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.")
        return f"{self._text}{int((now - second) * 1_000_000):06d}Z"


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    database: Database
    secrets: SecretBox
    live_runs: LiveRuns
    cassettes: Cassettes
    manual_run_ttl_s: int
    now: Callable[[], str] = field(default_factory=WallClock)
    #: Why the platform may not call an endpoint; None when it may.
    endpoint_refusal: Callable[[str], Awaitable[AddressRefused | None]]
    git: GitFetcher
    code_mode: CodeMode
    workspaces: Workspaces
    plan_readers: PlanReaders
    helpers: HelperProcesses  # read what is large: bodies, replies, code
    upload_helpers: HelperProcesses  # apart, since an upload takes minutes where a body takes seconds
    span_helpers: HelperProcesses  # apart, since telemetry comes all the time
    #: By type of tool endpoint; a type without one cannot be asked by this server.
    endpoint_makers: Mapping[str, EndpointMaker] = field(default_factory=dict)
    dispatching: FairSlots = field(default_factory=lambda: FairSlots(DISPATCHES, guests=DISPATCH_GUESTS))
    judging: FairSlots = field(default_factory=lambda: FairSlots(JUDGES, guests=JUDGE_GUESTS))
    asking_judges: FairSlots = field(default_factory=lambda: FairSlots(JUDGE_ASKS, guests=JUDGE_ASK_GUESTS))
    judge_tasks: JudgeTasks = field(default_factory=JudgeTasks)
    author_tasks: AuthorTasks = field(default_factory=AuthorTasks)
    probing: FairSlots = field(default_factory=lambda: FairSlots(PROBES, guests=PROBE_GUESTS))
    model_gateway: ModelGateway = field(default_factory=ModelGateway)
    models: Models = field(default_factory=Models)  # what is asked for the platform itself
    review_leases: ReviewLeases = field(default_factory=ReviewLeases)
    limits: Limits = field(default_factory=Limits)

    async def code_mode_status(self) -> CodeModeStatus:
        return replace(
            await self.code_mode.status(),
            workspaces=await self.workspaces.describe(),
            model_gateways=tuple(self.model_gateway.upstreams.values()),
        )
