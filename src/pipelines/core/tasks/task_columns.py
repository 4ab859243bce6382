"""The columns of a task upload: their names, the seed axes they fill, and how their cells are parsed."""

import re
from dataclasses import dataclass
from typing import Literal

from pipelines.core.text.json_text import InvalidJson, Json, dumps, loads
from pipelines.core.text.problems import Refused
from pipelines.core.text.yaml_text import read_yaml

#: How a cell is read. `json_or_text` is JSON when it starts with `{`, `[` or `"`, and otherwise plain text.
Kind = Literal["text", "json", "json_or_text", "yaml_or_json", "integer", "choice"]
LARGEST_YAML_CELL = 64 * 1024  # characters: as much takes a second


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    name: str
    axis: str
    kind: Kind
    help: str


def _column(name: str, kind: Kind, help: str, *, axis: str | None = None) -> Column:
    return Column(name=name, axis=axis or name, kind=kind, help=help)


COLUMNS: tuple[Column, ...] = (
    _column("user", "text", "What the user asks of the agent. Required.", axis="user_instruction"),
    _column(
        "behavior",
        "text",
        "Business rules that the simulated backend enforces. Never sent to the agent.",
        axis="behavior_instructions",
    ),
    _column(
        "rules",
        "yaml_or_json",
        "Typed rules that the simulated backend enforces in addition to the agent's: a list of"
        " `{form, tools, …}`; `{off: NAME}` switches one of the agent's off.",
    ),
    _column(
        "state",
        "json",
        "The world the run starts in: `{entity_type: {entity_id: {...attributes}}}`.",
        axis="initial_state",
    ),
    _column(
        "now",
        "text",
        "The time in that world when a run starts, in ISO 8601. Default: the run's own start.",
    ),
    _column("failure_rules", "json", "Failures to inject: an array of rules; the first match wins."),
    _column("expected_outcome", "choice", "What counts as right: `completion`, `refusal`, or `no_change`."),
    _column("turn_mode", "choice", "`single_shot` (the default), or `model_as_user` for a conversation."),
    _column("max_turns", "integer", "User turns of a conversation, 1 to 50 (10)."),
    _column(
        "memory_mode", "choice", "`replay` (the default) sends the whole transcript, `stateful` does not."
    ),
    _column(
        "simulator_mode", "choice", "Who plays the user: a `persona` (the default), or `scripted` turns."
    ),
    _column("user_simulator_persona", "text", "Who the simulated user is, and how they talk."),
    _column("scripted_user_turns", "json", "The user's turns after the first: an array of strings."),
    _column(
        "tracked_constraints",
        "json",
        "Constraints that the agent must keep in all turns: an array of strings or `{id, "
        "description, check?}`.",
    ),
    _column(
        "rubric",
        "json",
        "Statements about the run for a judge model or a person to check: an array of strings"
        " or `{id, text}`.",
    ),
    _column(
        "termination_keyword",
        "text",
        "The conversation ends when a reply of the agent, or a persona's message, contains this.",
    ),
    _column("scenario_ref", "text", "The coding scenario that this task belongs to."),
    _column("workspace_seed", "json_or_text", "The repository that a coding task starts from."),
    _column("setup_command", "text", "Run in the workspace before the agent starts."),
    _column("eval", "json_or_text", "How a coding task is graded."),
    _column("expected_state", "json", "Assertions on the final ledger; they decide task completion."),
    _column("expected_calls", "json", "Tool calls that must, or must not, be in the trace."),
    _column("expected_answer", "json", "Values that the agent's answer must give, by name."),
    _column("task_input", "json", "An object or array that the agent gets as the inner `input`."),
    _column(
        "id",
        "text",
        "Your name for the task, 1 to 100 characters: its key in all uploads. Without it, a key "
        "is generated.",
    ),
    _column("tags", "json_or_text", "Labels to filter by: text with commas, or an array of strings."),
    _column(
        "strict_simulation",
        "choice",
        "`true`: a call that only a guessed plan could answer is an error. `false` is the default.",
    ),
)
BY_NAME = {column.name: column for column in COLUMNS}
BY_AXIS = {column.axis: column for column in COLUMNS}
REQUIRED = BY_NAME["user"]
#: What a dispatched request calls a column; a file does not.
SENT_AS = {"current_state": "task_input"}

_JOINTS = re.compile(r"[\s_\u200b\ufeff-]+")  # between the words of a name, or around it


def _normalize_name(name: str) -> str:
    return _JOINTS.sub("", name).casefold()


_BY_LOOSE = {_normalize_name(name): column for column in COLUMNS for name in (column.name, column.axis)}


def column_of(name: str) -> Column | None:
    """The column that a heading names: by its name or axis, in any case, with spaces or hyphens for `_`."""
    return BY_NAME.get(name) or _BY_LOOSE.get(_normalize_name(name[:100]))


def is_axis_name(name: str) -> bool:
    """Whether a heading is the name that a stored task has for a column, rather than the column's own."""
    column = column_of(name)
    return column is not None and _normalize_name(name[:100]) != _normalize_name(column.name)


_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_EXCEL_CELL_LIMIT = 32_767  # characters; Excel cuts longer text off when it saves


class CellError(ValueError):
    """A cell cannot be read as its column's kind."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def read_cell(column: Column, text: str) -> Json:
    """The value that the text of a cell stands for."""
    match column.kind:
        case "integer":
            if _WHOLE_NUMBER.fullmatch(text.strip()) is None:
                raise CellError(f"`{column.name}` must be a whole number, not `{text.strip()[:40]}`")
            return int(text)
        case "json":
            return _read_json(text)
        case "json_or_text":
            return _read_json(text) if looks_like_json(text) else text
        case "yaml_or_json":
            return _read_yaml_or_json(text)
        case _:
            return text


def looks_like_json(text: str) -> bool:
    return text.lstrip().startswith(("{", "[", '"'))


def cell_text(column: Column, value: Json) -> str:
    """The reverse of `read_cell`: text that would be taken for JSON becomes a JSON string."""
    if isinstance(value, str) and not (column.kind == "json_or_text" and looks_like_json(value)):
        return value
    return dumps(value).decode()


def _read_json(text: str) -> Json:
    try:
        return loads(text.strip())
    except InvalidJson as error:
        raise CellError(error.predicate, _json_hint(text.strip())) from None


def _read_yaml_or_json(text: str) -> Json:
    """JSON first: it is read at once, and of YAML a page takes its time."""
    try:
        return loads(text.strip())
    except InvalidJson as error:
        not_json = CellError(error.predicate, _json_hint(text.strip()))
    if len(text) > LARGEST_YAML_CELL:
        message = f"has {len(text):,} characters; YAML in a cell may have at most {LARGEST_YAML_CELL:,}"
        raise CellError(message, "write a long list as JSON, which parses faster")
    try:
        return read_yaml(text, what="task", most_bytes=4 * LARGEST_YAML_CELL).value
    except Refused as refused:
        first = refused.problems[0]
    if looks_like_json(text):
        raise not_json
    raise CellError(f"{first.path}: {first.message}" if first.path else first.message, first.hint)


def _json_hint(text: str) -> str | None:
    """The usual reasons why a cell that was meant as JSON is not."""
    if len(text) >= _EXCEL_CELL_LIMIT - 1 and text[-1] not in "}]":
        return f"the cell may have been cut off: Excel keeps {_EXCEL_CELL_LIMIT:,} characters of a cell"
    if re.match(r"[{\[]\s*'", text):
        return "JSON needs double quotes"
    if re.search("[“”„]", text):
        return 'JSON needs straight double quotes ("), not typographic ones'
    if re.search(r",\s*[}\]]", text):
        return "JSON allows no comma before a closing bracket"
    if re.search(r"[0-9],[0-9]", text):
        return "JSON writes decimals with a point (79.50), and puts commas only between values"
    if re.search(r"\b(True|False|None)\b", text):
        return "JSON writes true, false and null"
    if text[:1] not in "{[":
        return "a JSON object starts with {, an array with ["
    return None
