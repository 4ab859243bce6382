"""The words of the contract: headers, environment variables, closed sets. One spelling for both sides."""

from enum import StrEnum

HEADER_RUN_TOKEN = "X-Pipelines-Run-Token"
HEADER_PROXY_URL = "X-Pipelines-Odyssey-Proxy-Url"
HEADER_RUN_ID = "X-Pipelines-Run-Id"
HEADER_TASK_ID = "X-Pipelines-Task-Id"
HEADER_RUN_TOKEN_JTI = "X-Pipelines-Run-Token-Jti"
HEADER_ACTOR_ID = "X-Pipelines-Actor-Id"
HEADER_SOURCE = "X-Pipelines-Source"
HEADER_IDEMPOTENCY_KEY = "Idempotency-Key"

#: What a code-mode agent finds in its environment.
ENV_PROXY_URL = "PIPELINES_ODYSSEY_PROXY_URL"
ENV_RUN_TOKEN = "PIPELINES_RUN_TOKEN"
ENV_RUN_TOKEN_JTI = "PIPELINES_RUN_TOKEN_JTI"
ENV_RUN_ID = "PIPELINES_RUN_ID"
ENV_TASK_ID = "PIPELINES_TASK_ID"
ENV_TASK_INPUT = "_PIPELINES_TASK_INPUT_JSON"
ENV_TASK_FILE = "PIPELINES_TASK_FILE"  # of a coding task: what is asked, as JSON
ENV_WORKSPACE = "PIPELINES_WORKSPACE"
ENV_MODEL_URL = "PIPELINES_MODEL_URL_"  # followed by the name of a model gateway
ENV_MODEL_KEY = "PIPELINES_MODEL_KEY"  # opens them in this run, and nothing anywhere else

PROXY_BASE = "/api/odyssey-proxy"
MODELS_BASE = "/models"  # at the door of a sandbox, and nowhere else
API_V1 = "/api/v1/"  # the eval library
OTLP_TRACES = "/v1/traces"  # where exporters of spans send them by default
MAX_BODY_BYTES = 1024 * 1024  # request and response of a tool call


class Source(StrEnum):
    """Who answered a tool call."""

    ODYSSEY = "odyssey"  # the simulated backend
    INJECTED = "injected"  # a failure rule of the task
    PASSTHROUGH = "passthrough"  # a live endpoint
    ERROR = "error"  # the call was refused, or the simulator could not answer it
    TRANSPORT_ERROR = "transport_error"  # a live endpoint could not be reached


class RunStatus(StrEnum):
    PENDING = "pending"  # stored, not yet given to the agent
    RUNNING = "running"  # its tools answer
    COMPLETED = "completed"  # the agent gave its final response
    FAILED = "failed"  # it never did; error_class says why
    CANCELLED = "cancelled"  # a person or a budget stopped it


class TraceEventType(StrEnum):
    """What an agent may report about itself beside its tool calls."""

    ASSISTANT_MESSAGE = "assistant_message"
    THINKING = "thinking"
    SYSTEM_PROMPT = "system_prompt"
    CUSTOM = "custom"
    HANDOFF = "handoff"
    SUBAGENT_MESSAGE = "subagent_message"
    SUBAGENT_FINAL = "subagent_final"


#: A row of the trace beside tool calls and the agent's events: the platform's own, of a code agent's model.
MODEL_CALL = "model_call"


class Role(StrEnum):
    """What a key may do, each including what stands below it."""

    OWNER = "owner"
    ADMIN = "admin"  # keys
    CONTRIBUTOR = "contributor"  # agents, datasets, runs
    VIEWER = "viewer"  # reading
