"""Every setting in one table: variable, default and meaning. A test compares the reference page with it."""

import dataclasses
import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from pipelines.core.access.issuer_url import client_problems, is_loopback, oidc_problems
from pipelines.core.models.model_question import Purpose
from pipelines.core.models.model_upstreams import ModelUpstream
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.limits import Limits
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.server.config import gateway_setting, model_settings, public_url
from pipelines.server.http.open_connections import ConnectionLimits, most_connections
from pipelines.storage.database.database import Store
from pipelines.storage.database.postgres_store import PostgresStore
from pipelines.storage.database.secret_box import decoded_key
from pipelines.storage.database.sqlite_store import SqliteStore, Synchronous

DATABASE_FILE = "odyssey.db"
DURABLE_FILE = "durable.db"
SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")
MOST_DIGITS = 18
SHARED_RATE_LIMIT = 60  # tool calls a minute per run, where a server is reached from elsewhere
TEN_YEARS_S = 315_360_000  # a run that stays open longer is a slip, and the calendar ends


def _setting(
    default: Any,
    help: str,
    least: int | None = None,
    most: int | None = None,
    *,
    choices: tuple[str, ...] = (),
) -> Any:
    """A field that the variable PIPELINES_<NAME> sets."""
    meaning = {"help": help, "least": least, "most": most, "choices": choices}
    return dataclasses.field(default=default, metadata=meaning)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    host: str = _setting("127.0.0.1", "address to listen on")
    port: int = _setting(8420, "port to listen on; 0 takes a free one", 0, 65_535)
    data_dir: Path = _setting(Path(".pipelines"), "folder of the database and the keys")  # noqa: RUF009
    database_url: str = _setting("", "sqlite:/// or postgresql:// URL; empty: a file")
    synchronous: str = _setting(
        "full", "full survives a power cut, normal only a crash", choices=("full", "normal")
    )
    api_key: str = _setting("", "becomes the first API key at the first start")
    secret_key: str = _setting("", "32 bytes in base64 to encrypt secrets; empty: a file")
    public_url: str = _setting("", "base URL for agents; empty: the server's own")
    allow_private_endpoints: str = _setting("auto", "yes, no or auto", choices=("auto", "yes", "no"))
    proxy_rate_limit: str = _setting("auto", "calls per minute and run; 0, auto")
    manual_run_ttl_s: int = _setting(86_400, "how long a manual run stays open", 1, TEN_YEARS_S)
    upload_limit_mb: int = _setting(64, "largest dataset upload", 1, 1_000_000)
    batch_runs: int = _setting(100_000, "most runs of one batch", 1, 10_000_000)
    eval_matrix_runs: int = _setting(200_000, "runs of a matrix, with baselines", 1, 10_000_000)
    judging_s: int = _setting(3, "CPU time limit to judge a run, without models", 1, 600)
    live_runs_mb: int = _setting(1_024, "memory for active runs and their worlds", 16, 1_000_000)
    cassettes_mb: int = _setting(256, "memory for cassettes in replay", 1, 1_000_000)
    head_timeout_s: int = _setting(10, "time limit for the head of a request", 1, 3_600)
    stall_timeout_s: int = _setting(30, "time limit for a client that stalls", 1, 3_600)
    max_connections: int = _setting(0, "0: what open files allow, at most 10,000", 0, 1_000_000)
    max_unfinished: int = _setting(1_000, "most unfinished requests of one address", 1, 1_000_000)
    unsafe_code: str = _setting("no", "yes: run uploaded code even without isolation", choices=("yes", "no"))
    sandbox_cgroup: str = _setting("", "cgroup for code, or auto; empty: none")
    sandboxes_at_once: int = _setting(0, "concurrent sandboxes; 0: four per core", 0, 1_000)
    coding_scenarios: int = _setting(20_000, "most coding scenarios of one org", 1, 1_000_000)
    workspace_mb: int = _setting(500, "largest coding workspace, with written files", 1, 100_000)
    workspace_files: int = _setting(50_000, "most files of a coding workspace", 1, 10_000_000)
    workspace_sharing: str = _setting(
        "auto", "overlay, memory or auto", choices=("auto", "overlay", "memory")
    )
    workspace_diff_kb: int = _setting(4_096, "largest change to grade", 1, 65_536)
    model: str = _setting("", "model for the server, such as openai:gpt-5-mini; empty: none")
    simulator_model: str = _setting("", "model for tool calls that no plan covers")
    judge_model: str = _setting("", "model for verdicts that no oracle decides")
    user_model: str = _setting("", "model that plays the user of a conversation")
    author_model: str = _setting("", "model that drafts plans, rules and worlds")
    asks_at_once: int = _setting(32, "most concurrent requests to one provider", 1, 1_000)
    ask_timeout_s: int = _setting(120, "timeout of a request to a model", 1, 3_600)
    model_gateway: str = _setting("", "models for uploaded code: a file or JSON")
    model_calls: int = _setting(500, "most model calls of one run", 1, 1_000_000)
    model_calls_at_once: int = _setting(8, "concurrent model calls of a run", 1, 32)
    model_timeout_s: int = _setting(600, "timeout of a model call", 1, 3_600)
    model_request_mb: int = _setting(8, "largest request to a model", 1, 100)
    model_answer_mb: int = _setting(16, "largest answer of a model", 1, 1_000)
    mcp_stdio: str = _setting("", "folder of MCP servers to start; empty: none")
    cache_days: int = _setting(30, "delete unused packages and code; 0: never")
    cache_limit_mb: int = _setting(10_000, "disk limit for both; 0: no limit")
    telemetry_days: int = _setting(30, "retention of spans; 0: for ever", 0, 36_500)
    session_days: int = _setting(30, "delete abandoned seed sessions; 0: never", 0, 36_500)
    telemetry_mask_ips: str = _setting("no", "yes: mask IP addresses too", choices=("yes", "no"))
    worker_silent_s: int = _setting(15, "a worker silent this long counts as gone", 1, 86_400)
    oidc_issuer: str = _setting("", "OIDC issuer to accept tokens from; empty: none")
    oidc_audience: str = _setting("", "required audience (aud) of its tokens")
    oidc_role_claim: str = _setting("role", "claim with the role")
    oidc_org_claim: str = _setting("", "claim with the org; empty: the only org")
    oidc_client_id: str = _setting("", "OIDC client for sign-in to the pages")
    oidc_client_secret: str = _setting("", "secret of the client, if it has one")
    token_skew_s: int = _setting(60, "allowed clock difference for tokens", 0, 600)
    log_level: str = _setting(
        "warning", "debug, info, warning or error", choices=("debug", "info", "warning", "error")
    )
    log_format: str = _setting("text", "text, or json for one object per line", choices=("text", "json"))
    access_log: str = _setting("no", "yes: log each request", choices=("yes", "no"))
    model_upstreams: tuple[ModelUpstream, ...] = ()  # what model_gateway lists, with keys of the environment
    #: The keys of the environment that models are asked with, by variable.
    model_keys: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)

    @property
    def is_shared(self) -> bool:
        """Whether several processes may use the database."""
        return self.database_url.startswith(POSTGRES)

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach the server. A public URL means that others can, through a
        proxy. Every setting whose `auto` depends on this asks here, and so does every other module."""
        return is_loopback(self.host) and not self.public_url

    @property
    def database_path(self) -> Path:
        if not self.database_url:
            return self.data_dir / DATABASE_FILE
        return Path(self.database_url.removeprefix(SQLITE))

    def store(self) -> Store:
        if self.is_shared:
            return PostgresStore(self.database_url)
        return SqliteStore(self.database_path, synchronous=cast(Synchronous, self.synchronous))

    @property
    def allows_private_endpoints(self) -> bool:
        """On `auto`, private addresses are allowed while only this machine can reach the server."""
        if self.allow_private_endpoints == "auto":
            return self.is_private
        return self.allow_private_endpoints == "yes"

    @property
    def calls_a_minute(self) -> int:
        """The limit per run; 0 is no limit. On `auto`, there is none while only this machine can reach the
        server."""
        if self.proxy_rate_limit == "auto":
            return 0 if self.is_private else SHARED_RATE_LIMIT
        return int(self.proxy_rate_limit)

    @property
    def model_names(self) -> dict[Purpose, str]:
        """The name of the model for each purpose."""
        named = {purpose: getattr(self, f"{purpose.value}_model") or self.model for purpose in Purpose}
        return {purpose: name for purpose, name in named.items() if name}

    @property
    def runs_unsafe_code(self) -> bool:
        """Whether uploaded code runs without isolation, because the operator trusts it."""
        return self.unsafe_code == "yes"

    @property
    def masks_ips(self) -> bool:
        return self.telemetry_mask_ips == "yes"

    @property
    def logs_requests(self) -> bool:
        return self.access_log == "yes"

    @property
    def limits(self) -> Limits:
        return Limits(
            batch_runs=self.batch_runs,
            judging_s=self.judging_s,
            coding_scenarios=self.coding_scenarios,
        )

    def connection_limits(self, files: int) -> ConnectionLimits:
        return ConnectionLimits(
            head_s=self.head_timeout_s,
            fresh_s=self.head_timeout_s,
            stall_s=self.stall_timeout_s,
            most=most_connections(files, self.max_connections),
            most_unfinished=self.max_unfinished,
        )

    @property
    def durable_url(self) -> str:
        """The database URL of the durable queue, next to the main database."""
        if self.is_shared:  # SQLAlchemy, under the engine, knows only one of the two names
            return POSTGRES[0] + self.database_url.split("://", 1)[1]
        return f"{SQLITE}{self.durable_file}"

    @property
    def durable_file(self) -> Path:
        """The file of the durable queue; None on Postgres."""
        return self.data_dir.resolve() / DURABLE_FILE

    def worker_id(self) -> str:
        """The id of this worker. With SQLite it is constant, because only one process uses the database."""
        return f"{socket.gethostname()}-{secrets.token_hex(4)}" if self.is_shared else "local"


class Setting(NamedTuple):
    variable: str
    field: str
    default: Any
    help: str
    least: int | None
    most: int | None
    choices: tuple[str, ...]


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(f"PIPELINES_{field.name.upper()}", field.name, field.default, **field.metadata)
    for field in dataclasses.fields(Settings)
    if field.metadata
)


def load_settings(environment: Mapping[str, str] = os.environ, **flags: Any) -> Settings:
    """Loads flags, then the environment, then defaults; raises Refused with all problems."""
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        given = flags.get(setting.field)
        text = environment.get(setting.variable) if given is None else str(given)
        values[setting.field] = setting.default if text is None else _value(setting, text, problems)
    values["data_dir"] = Path(values["data_dir"])
    problems += _problems(values)
    upstreams = gateway_setting.read_setting(values["model_gateway"], environment, problems)
    problems += model_settings.problems_of(values)
    keys = model_settings.keys_of(environment)
    settings = Settings(**values, model_upstreams=upstreams, model_keys=keys)
    policy = AddressPolicy(allow_private=settings.allows_private_endpoints)
    problems += gateway_setting.address_problems(upstreams, policy)
    if problems:
        raise Refused(problems, "the settings")
    return settings


def _value(setting: Setting, text: str, problems: list[Problem]) -> Any:
    if not isinstance(setting.default, int):
        return text
    if not _is_number(text):
        problems.append(Problem(path=setting.variable, message=f"must be a whole number, not {text[:40]!r}"))
        return setting.default
    return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def _problems(values: Mapping[str, Any]) -> list[Problem]:
    found = []
    for setting in SETTINGS:
        value = values[setting.field]
        if (
            setting.least is not None
            and setting.most is not None
            and not setting.least <= value <= setting.most
        ):
            message = f"must be from {setting.least} to {setting.most}"
            found.append(Problem(path=setting.variable, message=message))
        if setting.choices and value not in setting.choices:
            *others, last = map(repr, setting.choices)
            found.append(Problem(path=setting.variable, message=f"must be {', '.join(others)} or {last}"))
    limit = values["proxy_rate_limit"]
    if limit != "auto" and not _is_number(limit):
        message = f"must be a whole number or 'auto', not {limit[:40]!r}"
        found.append(Problem(path="PIPELINES_PROXY_RATE_LIMIT", message=message))
    url = values["database_url"]
    if url and (url == SQLITE or not url.startswith((SQLITE, *POSTGRES))):
        found.append(
            Problem(
                path="PIPELINES_DATABASE_URL",
                message="must be a sqlite:/// or postgresql:// URL",
                hint="sqlite:///odyssey.db, sqlite:////absolute/path.db, postgresql://user@host/database",
            )
        )
    key = values["api_key"]
    if key and (len(key) < 8 or not key.isascii() or not key.isprintable() or " " in key):
        found.append(
            Problem(
                path="PIPELINES_API_KEY", message="must be at least 8 visible ASCII characters, no spaces"
            )
        )
    if values["public_url"] and (problem := public_url.problem_of(values["public_url"])):
        found.append(problem)
    if values["oidc_issuer"]:
        found += oidc_problems(values["oidc_issuer"], values["oidc_audience"])
    found += client_problems(values["oidc_issuer"], values["oidc_client_id"], values["oidc_client_secret"])
    if values["secret_key"]:
        try:
            decoded_key(values["secret_key"])
        except ValueError as error:
            found.append(Problem(path="PIPELINES_SECRET_KEY", message=str(error)))
    return found
