"""Every setting in one table: variable, default and meaning. A test compares the reference page with it."""

import dataclasses
import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple, cast

from pipelines.core.access.issuer_url import client_problems, oidc_problems
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
RANGES = (
    ("PIPELINES_PORT", "port", 0, 65_535),
    ("PIPELINES_MANUAL_RUN_TTL_S", "manual_run_ttl_s", 1, TEN_YEARS_S),
    ("PIPELINES_UPLOAD_LIMIT_MB", "upload_limit_mb", 1, 1_000_000),
    ("PIPELINES_BATCH_RUNS", "batch_runs", 1, 10_000_000),
    ("PIPELINES_EVAL_MATRIX_RUNS", "eval_matrix_runs", 1, 10_000_000),
    ("PIPELINES_JUDGING_S", "judging_s", 1, 600),
    ("PIPELINES_LIVE_RUNS_MB", "live_runs_mb", 16, 1_000_000),
    ("PIPELINES_CASSETTES_MB", "cassettes_mb", 1, 1_000_000),
    ("PIPELINES_HEAD_TIMEOUT_S", "head_timeout_s", 1, 3_600),
    ("PIPELINES_STALL_TIMEOUT_S", "stall_timeout_s", 1, 3_600),
    ("PIPELINES_MAX_CONNECTIONS", "max_connections", 0, 1_000_000),
    ("PIPELINES_MAX_UNFINISHED", "max_unfinished", 1, 1_000_000),
    ("PIPELINES_SANDBOXES_AT_ONCE", "sandboxes_at_once", 0, 1_000),
    ("PIPELINES_CODING_SCENARIOS", "coding_scenarios", 1, 1_000_000),
    ("PIPELINES_WORKSPACE_MB", "workspace_mb", 1, 100_000),
    ("PIPELINES_WORKSPACE_FILES", "workspace_files", 1, 10_000_000),
    ("PIPELINES_WORKSPACE_DIFF_KB", "workspace_diff_kb", 1, 65_536),
    ("PIPELINES_MODEL_CALLS", "model_calls", 1, 1_000_000),
    ("PIPELINES_MODEL_CALLS_AT_ONCE", "model_calls_at_once", 1, 32),
    ("PIPELINES_MODEL_TIMEOUT_S", "model_timeout_s", 1, 3_600),
    ("PIPELINES_MODEL_REQUEST_MB", "model_request_mb", 1, 100),
    ("PIPELINES_MODEL_ANSWER_MB", "model_answer_mb", 1, 1_000),
    ("PIPELINES_ASKS_AT_ONCE", "asks_at_once", 1, 1_000),
    ("PIPELINES_ASK_TIMEOUT_S", "ask_timeout_s", 1, 3_600),
    ("PIPELINES_TELEMETRY_DAYS", "telemetry_days", 0, 36_500),
    ("PIPELINES_SESSION_DAYS", "session_days", 0, 36_500),
    ("PIPELINES_WORKER_SILENT_S", "worker_silent_s", 1, 86_400),
    ("PIPELINES_TOKEN_SKEW_S", "token_skew_s", 0, 600),
)
CHOICES = (
    ("PIPELINES_SYNCHRONOUS", "synchronous", ("full", "normal")),
    ("PIPELINES_ALLOW_PRIVATE_ENDPOINTS", "allow_private_endpoints", ("auto", "yes", "no")),
    ("PIPELINES_UNSAFE_CODE", "unsafe_code", ("yes", "no")),
    ("PIPELINES_WORKSPACE_SHARING", "workspace_sharing", ("auto", "overlay", "memory")),
    ("PIPELINES_TELEMETRY_MASK_IPS", "telemetry_mask_ips", ("yes", "no")),
    ("PIPELINES_LOG_LEVEL", "log_level", ("debug", "info", "warning", "error")),
    ("PIPELINES_LOG_FORMAT", "log_format", ("text", "json")),
    ("PIPELINES_ACCESS_LOG", "access_log", ("yes", "no")),
)


class Setting(NamedTuple):
    variable: str
    field: str
    default: Any
    help: str


SETTINGS: tuple[Setting, ...] = (
    Setting("PIPELINES_HOST", "host", "127.0.0.1", "address to listen on"),
    Setting("PIPELINES_PORT", "port", 8420, "port to listen on; 0 takes a free one"),
    Setting("PIPELINES_DATA_DIR", "data_dir", ".pipelines", "folder of the database and the keys"),
    Setting("PIPELINES_DATABASE_URL", "database_url", "", "sqlite:/// or postgresql:// URL; empty: a file"),
    Setting("PIPELINES_SYNCHRONOUS", "synchronous", "full", "full survives a power cut, normal only a crash"),
    Setting("PIPELINES_API_KEY", "api_key", "", "becomes the first API key at the first start"),
    Setting("PIPELINES_SECRET_KEY", "secret_key", "", "32 bytes in base64 to encrypt secrets; empty: a file"),
    Setting("PIPELINES_PUBLIC_URL", "public_url", "", "base URL for agents; empty: the server's own"),
    Setting("PIPELINES_ALLOW_PRIVATE_ENDPOINTS", "allow_private_endpoints", "auto", "yes, no or auto"),
    Setting("PIPELINES_PROXY_RATE_LIMIT", "proxy_rate_limit", "auto", "calls per minute and run; 0, auto"),
    Setting("PIPELINES_MANUAL_RUN_TTL_S", "manual_run_ttl_s", 86_400, "how long a manual run stays open"),
    Setting("PIPELINES_UPLOAD_LIMIT_MB", "upload_limit_mb", 64, "largest dataset upload"),
    Setting("PIPELINES_BATCH_RUNS", "batch_runs", 100_000, "most runs of one batch"),
    Setting("PIPELINES_EVAL_MATRIX_RUNS", "eval_matrix_runs", 200_000, "runs of a matrix, with baselines"),
    Setting("PIPELINES_JUDGING_S", "judging_s", 3, "CPU time limit to judge a run, without models"),
    Setting("PIPELINES_LIVE_RUNS_MB", "live_runs_mb", 1_024, "memory for active runs and their worlds"),
    Setting("PIPELINES_CASSETTES_MB", "cassettes_mb", 256, "memory for cassettes in replay"),
    Setting("PIPELINES_HEAD_TIMEOUT_S", "head_timeout_s", 10, "time limit for the head of a request"),
    Setting("PIPELINES_STALL_TIMEOUT_S", "stall_timeout_s", 30, "time limit for a client that stalls"),
    Setting("PIPELINES_MAX_CONNECTIONS", "max_connections", 0, "0: what open files allow, at most 10,000"),
    Setting("PIPELINES_MAX_UNFINISHED", "max_unfinished", 1_000, "most unfinished requests of one address"),
    Setting("PIPELINES_UNSAFE_CODE", "unsafe_code", "no", "yes: run uploaded code even without isolation"),
    Setting("PIPELINES_SANDBOX_CGROUP", "sandbox_cgroup", "", "cgroup for code, or auto; empty: none"),
    Setting("PIPELINES_SANDBOXES_AT_ONCE", "sandboxes_at_once", 0, "concurrent sandboxes; 0: four per core"),
    Setting("PIPELINES_CODING_SCENARIOS", "coding_scenarios", 20_000, "most coding scenarios of one org"),
    Setting("PIPELINES_WORKSPACE_MB", "workspace_mb", 500, "largest coding workspace, with written files"),
    Setting("PIPELINES_WORKSPACE_FILES", "workspace_files", 50_000, "most files of a coding workspace"),
    Setting("PIPELINES_WORKSPACE_SHARING", "workspace_sharing", "auto", "overlay, memory or auto"),
    Setting("PIPELINES_WORKSPACE_DIFF_KB", "workspace_diff_kb", 4_096, "largest change to grade"),
    Setting("PIPELINES_MODEL", "model", "", "model for the server, such as openai:gpt-5-mini; empty: none"),
    Setting("PIPELINES_SIMULATOR_MODEL", "simulator_model", "", "model for tool calls that no plan covers"),
    Setting("PIPELINES_JUDGE_MODEL", "judge_model", "", "model for verdicts that no oracle decides"),
    Setting("PIPELINES_USER_MODEL", "user_model", "", "model that plays the user of a conversation"),
    Setting("PIPELINES_AUTHOR_MODEL", "author_model", "", "model that drafts plans, rules and worlds"),
    Setting("PIPELINES_ASKS_AT_ONCE", "asks_at_once", 32, "most concurrent requests to one provider"),
    Setting("PIPELINES_ASK_TIMEOUT_S", "ask_timeout_s", 120, "timeout of a request to a model"),
    Setting("PIPELINES_MODEL_GATEWAY", "model_gateway", "", "models for uploaded code: a file or JSON"),
    Setting("PIPELINES_MODEL_CALLS", "model_calls", 500, "most model calls of one run"),
    Setting("PIPELINES_MODEL_CALLS_AT_ONCE", "model_calls_at_once", 8, "concurrent model calls of a run"),
    Setting("PIPELINES_MODEL_TIMEOUT_S", "model_timeout_s", 600, "timeout of a model call"),
    Setting("PIPELINES_MODEL_REQUEST_MB", "model_request_mb", 8, "largest request to a model"),
    Setting("PIPELINES_MODEL_ANSWER_MB", "model_answer_mb", 16, "largest answer of a model"),
    Setting("PIPELINES_MCP_STDIO", "mcp_stdio", "", "folder of MCP servers to start; empty: none"),
    Setting("PIPELINES_CACHE_DAYS", "cache_days", 30, "delete unused packages and code; 0: never"),
    Setting("PIPELINES_CACHE_LIMIT_MB", "cache_limit_mb", 10_000, "disk limit for both; 0: no limit"),
    Setting("PIPELINES_TELEMETRY_DAYS", "telemetry_days", 30, "retention of spans; 0: for ever"),
    Setting("PIPELINES_SESSION_DAYS", "session_days", 30, "delete abandoned seed sessions; 0: never"),
    Setting("PIPELINES_TELEMETRY_MASK_IPS", "telemetry_mask_ips", "no", "yes: mask IP addresses too"),
    Setting("PIPELINES_WORKER_SILENT_S", "worker_silent_s", 15, "a worker silent this long counts as gone"),
    Setting("PIPELINES_OIDC_ISSUER", "oidc_issuer", "", "OIDC issuer to accept tokens from; empty: none"),
    Setting("PIPELINES_OIDC_AUDIENCE", "oidc_audience", "", "required audience (aud) of its tokens"),
    Setting("PIPELINES_OIDC_ROLE_CLAIM", "oidc_role_claim", "role", "claim with the role"),
    Setting("PIPELINES_OIDC_ORG_CLAIM", "oidc_org_claim", "", "claim with the org; empty: the only org"),
    Setting("PIPELINES_OIDC_CLIENT_ID", "oidc_client_id", "", "OIDC client for sign-in to the pages"),
    Setting("PIPELINES_OIDC_CLIENT_SECRET", "oidc_client_secret", "", "secret of the client, if it has one"),
    Setting("PIPELINES_TOKEN_SKEW_S", "token_skew_s", 60, "allowed clock difference for tokens"),
    Setting("PIPELINES_LOG_LEVEL", "log_level", "warning", "debug, info, warning or error"),
    Setting("PIPELINES_LOG_FORMAT", "log_format", "text", "text, or json for one object per line"),
    Setting("PIPELINES_ACCESS_LOG", "access_log", "no", "yes: log each request"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    host: str
    port: int
    data_dir: Path
    database_url: str
    synchronous: str
    api_key: str
    secret_key: str
    public_url: str
    allow_private_endpoints: str
    proxy_rate_limit: str
    manual_run_ttl_s: int
    upload_limit_mb: int
    batch_runs: int
    eval_matrix_runs: int
    judging_s: int
    live_runs_mb: int
    cassettes_mb: int
    head_timeout_s: int
    stall_timeout_s: int
    max_connections: int
    max_unfinished: int
    unsafe_code: str
    sandbox_cgroup: str
    sandboxes_at_once: int
    coding_scenarios: int
    workspace_mb: int
    workspace_files: int
    workspace_sharing: str
    workspace_diff_kb: int
    model: str
    simulator_model: str
    judge_model: str
    user_model: str
    author_model: str
    asks_at_once: int
    ask_timeout_s: int
    model_gateway: str
    model_calls: int
    model_calls_at_once: int
    model_timeout_s: int
    model_request_mb: int
    model_answer_mb: int
    mcp_stdio: str
    cache_days: int
    cache_limit_mb: int
    telemetry_days: int
    session_days: int
    telemetry_mask_ips: str
    worker_silent_s: int
    oidc_issuer: str
    oidc_audience: str
    oidc_role_claim: str
    oidc_org_claim: str
    oidc_client_id: str
    oidc_client_secret: str
    token_skew_s: int
    log_level: str
    log_format: str
    access_log: str
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
        proxy."""
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
            return is_loopback(self.host)
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


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
    for variable, field, least, most in RANGES:
        if not least <= values[field] <= most:
            found.append(Problem(path=variable, message=f"must be from {least} to {most}"))
    for variable, field, choices in CHOICES:
        if values[field] not in choices:
            *others, last = map(repr, choices)
            found.append(Problem(path=variable, message=f"must be {', '.join(others)} or {last}"))
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
