"""Request bodies as the OpenAPI document shows them. The real checks, with all their hints, are core's."""

from collections.abc import Iterable
from typing import Any

from pipelines.core.coding.scorers import TYPES as SCORER_TYPES
from pipelines.core.models.honesty_level import LEVELS
from pipelines.core.models.model_question import Purpose
from pipelines.core.recordings.recorded_run import FORMATS, MOST_RUNS
from pipelines.core.simulation.rules.forms import MOST_RULES
from pipelines.core.task_files.read_tasks import COLUMNS
from pipelines.core.tasks.oracle_axes import MOST_NAME, MOST_NOTE
from pipelines.core.tasks.rubric_lines import MOST_LINES
from pipelines.core.tasks.seed import EXPECTED_OUTCOMES
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.uploads import MAX_NAME
from pipelines.core.tools.failure_rules import MAX_FAULT_SEED
from pipelines.core.tools.live_tools import LIVE, PASSTHROUGH_MODES
from pipelines.core.tools.passthrough_choice import CASSETTE_NAME
from pipelines.core.tools.tool_annotations import HINTS
from pipelines.core.tools.tool_formats import ANTHROPIC, MCP, OPENAI
from pipelines.wire.names import Role

_TEXT: JsonObject = {"type": "string"}
_OBJECT: JsonObject = {"type": "object"}
_ID: JsonObject = {"type": "integer", "minimum": 1}

_TOOL_NAME: JsonObject = {"type": "string", "pattern": r"^[A-Za-z_][A-Za-z0-9_\-]{0,127}$"}
_ARGUMENTS: JsonObject = {"type": "object", "description": "JSON Schema of the arguments"}
_REPLY: JsonObject = {"type": "object", "description": "JSON Schema of the response"}
_HINTS: JsonObject = {hint: {"type": "boolean"} for hint in HINTS.values()}
#: What a tool of any format may have beside its name and schemas.
_OF_ANY_TOOL: JsonObject = {
    "description": _TEXT,
    "annotations": {
        "type": "object",
        "description": "what the tool does, as MCP has it: hints that go before its name and description",
        "properties": {"title": _TEXT, **_HINTS},
        "additionalProperties": False,
    },
    "default_execution_mode": {"enum": ["sandbox", "passthrough"]},
    "passthrough_binding": _OBJECT,
    "ledger_write_policy": {"enum": ["record_only", "adapter", "none"]},
    "ledger_adapter": _OBJECT,
    "simulation": {"description": "an authored plan: a list of steps"},
}


def _tool(says: str, schema_name: str, fields: JsonObject, others: Iterable[str]) -> JsonObject:
    properties: JsonObject = {name: {"description": "accepted, and of no effect"} for name in others}
    return {
        "description": says,
        "type": "object",
        "required": ["name", schema_name],
        "properties": {"name": _TOOL_NAME} | properties | fields | _OF_ANY_TOOL,
        "additionalProperties": False,
    }


_FUNCTION: JsonObject = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": _TOOL_NAME,
        "description": _TEXT,
        "parameters": _ARGUMENTS,
        "strict": {"type": ["boolean", "null"]},
    },
}
TOOL: JsonObject = {
    "anyOf": [
        _tool(
            "ours, and Anthropic's",
            "input_schema",
            {"input_schema": _ARGUMENTS, "output_schema": _REPLY},
            ANTHROPIC.others,
        ),
        _tool(
            "as an MCP server lists it",
            "inputSchema",
            {"inputSchema": _ARGUMENTS, "outputSchema": _REPLY, "title": _TEXT},
            MCP.others,
        ),
        _tool(
            "OpenAI, Responses",
            "parameters",
            {"parameters": _ARGUMENTS, "output_schema": _REPLY},
            OPENAI.others,
        ),
        {
            "description": "OpenAI, chat completions",
            "type": "object",
            "required": ["type", "function"],
            "properties": {"type": {"const": "function"}, "function": _FUNCTION, **_OF_ANY_TOOL},
        },
    ]
}

_AGENT_FIELDS: JsonObject = {
    "name": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": {"type": "string", "maxLength": 5000},
    "mode": {"enum": ["external_http", "code"]},
    "endpoint_url": {"type": "string", "format": "uri"},
    "auth_header_name": _TEXT,
    "auth_header_value": {"type": "string", "writeOnly": True},
    "run_timeout_s": {"type": "integer", "minimum": 1, "maximum": 1800, "default": 300},
    "tools_schema": {"type": "array", "items": TOOL},
    "ledger_schema": {"type": ["object", "null"]},
    "response_contract": {"type": ["object", "null"]},
    "config": _OBJECT,
    "rules": {
        "type": ["array", "null"],
        "items": _OBJECT,
        "maxItems": MOST_RULES,
        "description": "typed rules of the simulated backend that hold for all its tasks: {form, tools, …}",
    },
    "max_concurrency": {"type": "integer", "minimum": 1, "default": 8},
    "variation_delivery": {
        "description": "how the text of an eval variation reaches the agent: added to its system prompt, "
        "ahead of the user's words for an agent that takes no additions, or in the replies of its tools",
        "enum": ["system", "user", "tool_result"],
        "default": "system",
    },
    "code": {
        "description": "where the source of an agent of mode `code` comes from; a zip is PUT to /code",
        "oneOf": [
            {
                "type": "object",
                "required": ["source", "text"],
                "properties": {"source": {"const": "paste"}, "text": _TEXT},
                "additionalProperties": False,
            },
            {
                "type": "object",
                "required": ["source", "files"],
                "properties": {
                    "source": {"const": "files"},
                    "files": {"type": "object", "additionalProperties": _TEXT, "maxProperties": 50},
                },
                "additionalProperties": False,
            },
            {
                "type": "object",
                "required": ["source", "url"],
                "properties": {"source": {"const": "git"}, "url": _TEXT, "ref": _TEXT, "directory": _TEXT},
                "additionalProperties": False,
            },
        ],
    },
    "entrypoint": {"type": "string", "description": "agent.py, or bots/refund.py:run"},
    "requirements": {"type": "string", "description": "lines of a requirements.txt"},
    "secrets": {"type": "array", "items": _TEXT, "description": "credentials to set as variables"},
    "model_gateways": {"type": "array", "items": _TEXT, "description": "models that its runs may ask"},
    "status": {"enum": ["draft", "published"], "default": "published"},
}
AGENT: JsonObject = {
    "type": "object",
    "required": ["name"],
    "properties": _AGENT_FIELDS,
    "additionalProperties": False,
}
AGENT_CHANGE: JsonObject = {"type": "object", "properties": _AGENT_FIELDS, "additionalProperties": False}

_ROW: JsonObject = {
    "type": "object",
    "required": ["user"],
    "properties": {column.name: {"description": column.help} for column in COLUMNS},
    "additionalProperties": False,
}
_ROWS: JsonObject = {"type": "array", "items": _ROW, "minItems": 1, "maxItems": 5000}
_REUSE: JsonObject = {
    "type": "boolean",
    "default": False,
    "description": "answer with the dataset of the same name, agent and content, where there is one",
}
_FILE: JsonObject = {
    "type": "string",
    "format": "binary",
    "description": "a table such as CSV, or by its name YAML, JSON or JSON lines",
}


def _upload(json_schema: JsonObject, form: JsonObject) -> dict[str, Any]:
    kinds = {"application/json": {"schema": json_schema}, "multipart/form-data": {"schema": form}}
    return {"requestBody": {"required": True, "content": kinds}}


UPLOAD = _upload(
    {
        "type": "object",
        "required": ["name", "rows"],
        "properties": {"name": _TEXT, "agent_id": _ID, "rows": _ROWS, "reuse": _REUSE},
        "additionalProperties": False,
    },
    {
        "type": "object",
        "required": ["file"],
        "properties": {"file": _FILE, "name": _TEXT, "agent_id": _ID, "reuse": _REUSE},
    },
)
TASK_ROWS = _upload(
    {
        "type": "object",
        "required": ["rows"],
        "properties": {"rows": _ROWS},
        "additionalProperties": False,
    },
    {"type": "object", "required": ["file"], "properties": {"file": _FILE}},
)
_FAULT_SEED: JsonObject = {"type": "integer", "minimum": 0, "maximum": MAX_FAULT_SEED, "default": 0}
_ORACLE_JSON: JsonObject = {"type": ["object", "array", "null"]}
ORACLE: JsonObject = {
    "type": "object",
    "description": "at least one of the first six; null takes it away",
    "properties": {
        "expected_outcome": {"enum": [*EXPECTED_OUTCOMES, None]},
        "expected_state": _ORACLE_JSON,
        "expected_calls": _ORACLE_JSON,
        "expected_answer": {"type": ["object", "null"]},
        "tracked_constraints": {"type": ["array", "null"]},
        "rubric": {"type": ["array", "null"]},
        "note": {"type": "string", "maxLength": MOST_NOTE, "description": "why"},
        "by": {"type": "string", "minLength": 1, "maxLength": MOST_NAME, "description": "who"},
    },
    "additionalProperties": False,
}
_HONESTY: JsonObject = {
    "enum": [*LEVELS],
    "description": "strict leaves a run to a person where a value of its answer cannot be looked up",
}
REJUDGE: JsonObject = {
    "type": "object",
    "properties": {
        "model": {
            "type": "string",
            "maxLength": 500,
            "description": "the judge, as provider:model; none: by evidence alone; default: the server's",
        },
        "rubric": {
            "type": "array",
            "maxItems": MOST_LINES,
            "description": "in place of the tasks': strings or {id, text}",
        },
        "beside": {
            "type": "boolean",
            "default": False,
            "description": "keep what the model says beside the verdict, which stays",
        },
        "honesty": _HONESTY,
    },
    "additionalProperties": False,
}
_PASSTHROUGH: JsonObject = {
    "passthrough": {
        "enum": [*PASSTHROUGH_MODES],
        "default": LIVE,
        "description": "how calls of passthrough tools are answered; all but live name a cassette",
    },
    "cassette": {"type": "string", "pattern": f"^{CASSETTE_NAME.pattern}$"},
    "overwrite_cassette": {"type": "boolean", "default": False, "description": "empty it before recording"},
}
_BUDGET: JsonObject = {
    "max_cost_usd": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "maximum": 1_000_000,
        "description": "what it may spend on models that the platform asks, in dollars",
    },
    "max_model_tokens": {
        "type": ["integer", "null"],
        "minimum": 1,
        "maximum": 10**12,
        "description": "what it may spend on them in tokens; needed where a model has no known price",
    },
}
BUDGET: JsonObject = {"type": "object", "properties": _BUDGET, "additionalProperties": False}
_MODEL_NAME: JsonObject = {"type": "string", "maxLength": 500, "description": "such as openai:gpt-5-mini"}
MODELS: JsonObject = {
    "type": "object",
    "properties": {purpose.value: _MODEL_NAME for purpose in Purpose},
    "additionalProperties": False,
}
HONESTY: JsonObject = {
    "type": "object",
    "required": ["honesty"],
    "properties": {"honesty": {**_HONESTY, "enum": [*LEVELS, None]}},
    "additionalProperties": False,
}
MODEL_TEST: JsonObject = {
    "type": "object",
    "properties": {"purpose": {"enum": [purpose.value for purpose in Purpose]}, "model": _MODEL_NAME},
    "additionalProperties": False,
}
RUN: JsonObject = {
    "oneOf": [
        {
            "type": "object",
            "description": "send tasks to the agent",
            "required": ["agent_id"],
            "properties": {
                "agent_id": _ID,
                "dataset_id": _ID,
                "task_ids": {"type": "array", "items": _ID, "minItems": 1},
                "repeats": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1},
                "concurrency": {"type": "integer", "minimum": 1, "maximum": 1000},
                "fault_seed": {
                    "description": 'what random failure rules draw; "repeat": each repeat its own draws',
                    "oneOf": [_FAULT_SEED, {"const": "repeat"}],
                },
                "honesty": _HONESTY,
                "mode": {"const": "dispatch"},
                **_PASSTHROUGH,
                **_BUDGET,
            },
            "additionalProperties": False,
        },
        {
            "type": "object",
            "description": "open one run to be driven by hand",
            "required": ["mode", "agent_id", "task_ids"],
            "properties": {
                "mode": {"const": "manual"},
                "agent_id": _ID,
                "task_ids": {"type": "array", "items": _ID, "minItems": 1, "maxItems": 1},
                "now": {
                    "type": "string",
                    "format": "date-time",
                    "description": "the time in the run's world",
                },
                "fault_seed": _FAULT_SEED,
                **_PASSTHROUGH,
            },
            "additionalProperties": False,
        },
    ]
}
VERIFY_CASSETTE: JsonObject = {
    "type": "object",
    "properties": {
        "include_writes": {
            "type": "boolean",
            "default": False,
            "description": "call tools that may write, too",
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 1000, "description": "calls"},
    },
    "additionalProperties": False,
}
_LINES: JsonObject = {"application/x-ndjson": {"schema": {"type": "string"}}}
CASSETTE_LINES: dict[int | str, dict[str, Any]] = {200: {"content": _LINES}}
TAKES_CASSETTE: dict[str, Any] = {"requestBody": {"required": True, "content": _LINES}}
IMPORT: JsonObject = {
    "type": "object",
    "required": ["agent_id", "runs"],
    "properties": {
        "agent_id": _ID,
        "dataset_id": {**_ID, "description": "the tasks that the runs were given"},
        "tasks": {**_ROWS, "description": "the same as rows, in place of a dataset"},
        "format": {"enum": [*FORMATS], "description": "left out: recognised by the shape of each run"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_RUNS,
            "items": {
                "type": ["object", "array"],
                "description": "messages, an ATIF trajectory, OTLP spans or an exported run;"
                " an object may have `task`, `state_before` and `state_after`",
            },
        },
        "label": {"type": "string", "minLength": 1, "maxLength": MAX_NAME, "description": "such as a build"},
    },
    "additionalProperties": False,
}
FINISH: JsonObject = {
    "type": "object",
    "required": ["final_response"],
    "properties": {
        "final_response": {"type": "string", "minLength": 1},
        "messages": {"type": "array", "items": _OBJECT},
        "metadata": _OBJECT,
    },
    "additionalProperties": False,
}
KEY: JsonObject = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 255},
        "role": {"enum": [role.value for role in Role], "default": "contributor"},
    },
    "additionalProperties": False,
}
CREDENTIAL: JsonObject = {
    "type": "object",
    "required": ["name", "value"],
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,127}$"},
        "value": {"type": "string", "minLength": 4, "maxLength": 32768, "writeOnly": True},
    },
    "additionalProperties": False,
}
_ENDPOINT_FIELDS: JsonObject = {
    "name": {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9._\-]{0,127}$"},
    "type": {"enum": ["mcp_server", "http_openapi", "code"]},
    "config": {
        "type": "object",
        "description": "http_openapi: base_url, and spec_url or spec; mcp_server: url, or command, args,"
        " env_vars; code: source, files or zip, and functions, requirements, env_vars, allow_hosts. Its"
        " fields may stand at the top instead",
    },
    "auth": {
        "type": ["object", "null"],
        "description": '{"type": "bearer", "credential": NAME}, or {"type": "api_key", "header": "X-API-Key",'
        ' "credential": NAME}, or {"type": "none"}',
    },
}
TOOL_ENDPOINT: JsonObject = {
    "type": "object",
    "required": ["name", "type"],
    "properties": _ENDPOINT_FIELDS,
}
TOOL_ENDPOINT_CHANGE: JsonObject = {"type": "object", "properties": _ENDPOINT_FIELDS}
DISCOVER: JsonObject = {
    "type": "object",
    "properties": {
        "accept": {"type": "boolean", "default": False, "description": "take what changed or went for right"}
    },
    "additionalProperties": False,
}
ENDPOINT_CALL: JsonObject = {
    "type": "object",
    "required": ["tool_name"],
    "properties": {"tool_name": _TEXT, "arguments": _OBJECT},
    "additionalProperties": False,
}
CODING_IMPORT: JsonObject = {
    "type": "object",
    "required": ["scenario", "reference"],
    "properties": {
        "scenario": {"type": "object", "description": "as POST /api/coding-scenarios takes it"},
        "reference": {
            "type": "object",
            "properties": {
                "patch": _TEXT,
                "command": _TEXT,
                "files": {"type": "object", "additionalProperties": _TEXT},
            },
            "additionalProperties": False,
        },
        "test_patch": _TEXT,
        "replace": {"type": "boolean"},
    },
    "additionalProperties": False,
}
ZIP: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
    }
}
PROPOSE_RULES: JsonObject = {
    "type": "object",
    "properties": {
        "task_id": {"type": "integer", "description": "only the text and the world of this task"},
        "agent_id": {"type": "integer", "description": "whose tools it is about; else the dataset's agent"},
        "sentences": {
            "type": "array",
            "items": _TEXT,
            "maxItems": 40,
            "description": "these, also ones that are read; else all that are not read",
        },
    },
    "additionalProperties": False,
}
ACCEPT_RULES: JsonObject = {
    "type": "object",
    "properties": {
        "rule_ids": {
            "type": "array",
            "items": {"type": "integer"},
            "minItems": 1,
            "maxItems": 1_000,
            "description": "proposed rules: all are accepted, or none",
        }
    },
    "required": ["rule_ids"],
    "additionalProperties": False,
}
DISMISS_SENTENCES: JsonObject = {
    "type": "object",
    "properties": {
        "sentences": {
            "type": "array",
            "items": _TEXT,
            "minItems": 1,
            "maxItems": 40,
            "description": "as they stand in behaviour texts of the dataset",
        }
    },
    "required": ["sentences"],
    "additionalProperties": False,
}
PROPOSE_PLANS: JsonObject = {
    "type": "object",
    "properties": {
        "task_id": {"type": "integer", "description": "over this task's world and behaviour text"},
        "tools": {
            "type": "array",
            "items": _TEXT,
            "description": "these; else all that are a guess or differ from the recording",
        },
        "behavior": {"type": "string", "description": "behaviour text, in place of the task's"},
        "recording": {
            "type": "object",
            "description": "`state` (state.json) and `tasks` (the lines of calls.jsonl): to learn plans from,"
            " and to measure them by",
        },
    },
    "additionalProperties": False,
}
ACCEPT_PLANS: JsonObject = {
    "type": "object",
    "properties": {"plans": {"type": "object", "description": "steps by tool name"}},
    "required": ["plans"],
    "additionalProperties": False,
}
PLANS_CHECK: JsonObject = {
    "type": "object",
    "properties": {
        "plans": {"type": "object", "description": "steps by tool name"},
        "text": {"type": "string", "description": "the same as YAML; problems then carry line numbers"},
    },
    "additionalProperties": False,
}

_SCENARIO_FIELDS: JsonObject = {
    "name": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": {"type": "string", "maxLength": 5000},
    "risk_level": {"enum": ["low", "medium", "high", "critical"]},
    "input_context": _OBJECT,
    "expected_behavior": {
        "type": "object",
        "description": "leaves are literals or matchers: $in, $regex, $gte, $lte, $contains, $exists, $not,"
        " $similar",
    },
    "match_mode": {"enum": ["subset", "exact"], "default": "subset"},
    "prohibited": {"type": "array", "items": _OBJECT, "description": "partial outputs that must never hold"},
    "decision_fields": {"type": "array", "items": _TEXT},
    "fields": {"type": "object", "description": "how a path is compared, by JSON Pointer"},
    "decision_labels": {"type": "object", "description": "label to phrases or /patterns/"},
    "observe": {"enum": ["final_response", "tool_calls"], "default": "final_response"},
    "instruction": _TEXT,
    "agent_id": _ID,
    "odyssey_seed": {"type": "object", "description": "a world: the run's tools are simulated in it"},
    "tags": {"type": "array", "items": _TEXT},
    "variations": {"type": "object", "description": "what is expected under a variation, by its id"},
}
_SCORERS: JsonObject = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["name", "type"],
        "properties": {
            "name": _TEXT,
            "type": {"type": "string", "enum": [*SCORER_TYPES]},
            "required": {"type": "boolean", "description": "gates the verdict (true)"},
            "weight": {"type": "number", "description": "in the score (1)"},
        },
        "description": "and what its type needs: docs/reference/coding.md",
    },
}
CODING_SCENARIO: JsonObject = {
    "type": "object",
    "required": ["name", "user_instruction", "scorers"],
    "properties": {
        "name": {"type": "string", "maxLength": 128, "description": "what tasks call it by"},
        "user_instruction": _TEXT,
        "workspace_seed": {
            "description": "{type: git, url, ref}, {type: archive, data}, {type: files, files} or"
            " {type: empty}; text is a git URL"
        },
        "setup_command": {"type": "string", "description": "run in the workspace before its baseline"},
        "setup_instructions": {"type": "string", "description": "told to the agent instead"},
        "scorers": _SCORERS,
        "test_files": {"type": "object", "description": "texts by path that come only with grading"},
        "requirements": {"description": "packages: a text as in requirements.txt, or an array of its lines"},
        "env_vars": {"type": "object", "description": "plain texts, for setup, agent and scorers"},
        "network": {"description": 'none, or {"setup": [hosts]}'},
        "timeouts": {"type": "object", "description": "setup_s (600), agent_s"},
    },
    "additionalProperties": False,
}
RESCORE: JsonObject = {
    "type": "object",
    "properties": {"scorers": _SCORERS},
    "additionalProperties": False,
}
GRADE: JsonObject = {
    "type": "object",
    "properties": {"patch": {"type": "string", "description": "as git diff writes it; left out: no change"}},
    "additionalProperties": False,
}
SCENARIO: JsonObject = {
    "type": "object",
    "required": ["name", "risk_level", "input_context", "expected_behavior"],
    "properties": _SCENARIO_FIELDS,
    "additionalProperties": False,
}
SCENARIO_CHANGE: JsonObject = {
    "type": "object",
    "properties": _SCENARIO_FIELDS
    | {
        "version": {"type": "integer", "description": "the one that is changed; 409 where it is not current"},
        "id": {"type": "string", "readOnly": True},
        "created_at": {"type": "string", "readOnly": True},
        "updated_at": {"type": "string", "readOnly": True},
    },
    "additionalProperties": False,
}
VARIATION: JsonObject = {
    "type": "object",
    "required": ["id", "name", "tests", "wordings"],
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,63}$"},
        "version": {"type": "integer", "minimum": 1, "description": "the server counts versions itself"},
        "name": _TEXT,
        "tests": {"type": "string", "description": "what it tests, such as: Urgency bias"},
        "direction": _TEXT,
        "pushes_toward": _OBJECT,
        "is_placebo": {"type": "boolean"},
        "wordings": {"description": "a list of texts, or lists of them by intensity: 1, 2, 3"},
    },
    "additionalProperties": False,
}
_EVAL_SHARED: JsonObject = {
    "agent_id": _ID,
    "repeats": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1},
    "baseline_repeats": {"type": "integer", "minimum": 1, "maximum": 200},
    "intensity": {"type": "integer", "minimum": 1, "maximum": 3, "default": 2},
    "delivery": {
        "enum": ["system", "user", "tool_result"],
        "description": "left out: as the agent is set to",
    },
    "rng_seed": {"type": "integer", "minimum": 0, "maximum": 2**53 - 1},
    "parallel": {"type": "boolean", "default": True, "description": "false: one run at a time"},
    "concurrency": {"type": "integer", "minimum": 1, "maximum": 1000},
    **_BUDGET,
}
MATRIX: JsonObject = {
    "type": "object",
    "required": ["scenario_ids"],
    "properties": {
        "scenario_ids": {"type": "array", "items": _TEXT, "minItems": 1},
        "variation_types": {
            "type": "array",
            "items": _TEXT,
            "minItems": 1,
            "description": "left out: the seven that are built in, and neutral_control; `a+b` is two at once",
        },
        **_EVAL_SHARED,
    },
    "additionalProperties": False,
}
EVAL_RUN: JsonObject = {
    "type": "object",
    "required": ["scenario_id"],
    "properties": {
        "scenario_id": _TEXT,
        "variation_type": {"type": ["string", "null"], "description": "left out: a baseline run"},
        **_EVAL_SHARED,
    },
    "additionalProperties": False,
}

#: What is answered with beside JSON.
EXPORT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {}}}}
ZIP_FILE: dict[int | str, dict[str, Any]] = {200: {"content": {"application/zip": {}}}}
EVENTS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}}}
