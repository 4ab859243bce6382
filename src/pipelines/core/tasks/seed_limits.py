"""Size limits for each part of a task, applied when it is uploaded.

Tasks stored before a limit existed still load.
"""

from collections.abc import Mapping

from pipelines.core.text.json_text import Json, JsonObject, count_values, dumps, pointer
from pipelines.core.text.problems import Problem

KIBIBYTE = 1024
LONGEST_BEHAVIOR = 32 * KIBIBYTE  # bytes: read sentence by sentence for every tool, when a run starts
LONGEST_TEXT = 256 * KIBIBYTE  # bytes of any other text: sent to the agent, and shown whole
LARGEST_STATE = 8 * KIBIBYTE * KIBIBYTE  # bytes as JSON, and
MOST_STATE_VALUES = 250_000  # values: held in memory while a run is called, some 100 bytes for each
LARGEST_JSON = KIBIBYTE * KIBIBYTE  # bytes of any other JSON: as much as a tool call may have
LARGEST_WORKSPACE = LARGEST_STATE  # a repository may come as files
LARGEST_RULES = 4 * KIBIBYTE * KIBIBYTE  # ten thousand of 400 bytes

_TEXTS = (
    "user_instruction",
    "user_simulator_persona",
    "setup_command",
    "scenario_ref",
    "termination_keyword",
)
_LARGEST: Mapping[str, tuple[int, str]] = {
    "behavior_instructions": (LONGEST_BEHAVIOR, "write fewer or shorter rules"),
    **dict.fromkeys(_TEXTS, (LONGEST_TEXT, "put long material into `state` or `task_input`")),
    "initial_state": (LARGEST_STATE, "leave out records that no task uses"),
    "workspace_seed": (LARGEST_WORKSPACE, "name a git repository instead"),
    "rules": (
        LARGEST_RULES,
        "move rules that apply to all tasks to the agent; one rule may name many tools",
    ),
    "failure_rules": (
        LARGEST_JSON,
        "use one rule for many calls: `*` for the tool, `duration` for the window",
    ),
}
_HINT = "split the task, or remove what it does not need"


def size_problems(row: JsonObject, path: str) -> dict[str, Problem]:
    """What is too large, by axis. Texts are measured in UTF-8, everything else as JSON."""
    found = {axis: _problem(axis, value, path) for axis, value in row.items()}
    return {axis: problem for axis, problem in found.items() if problem is not None}


def _problem(axis: str, value: Json, path: str) -> Problem | None:
    most, hint = _LARGEST.get(axis, (LARGEST_JSON, _HINT))
    if value is None or isinstance(value, bool | int | float):
        return None
    at = path + pointer([axis])
    if isinstance(value, str):
        # A character has at most four bytes: most texts need not be encoded to know that they are short.
        size = len(value) if len(value) * 4 <= most else len(value.encode("utf-8", "surrogatepass"))
    else:
        size = len(dumps(value))
    if size > most:
        message = f"`{axis}` has {size:,} bytes; at most {_size_text(most)} are allowed"
        return Problem(path=at, message=message, hint=hint)
    # Two bytes a value at least: what is smaller than that cannot have too many.
    if size > 2 * MOST_STATE_VALUES and count_values(value, MOST_STATE_VALUES) > MOST_STATE_VALUES:
        message = f"`{axis}` holds more than {MOST_STATE_VALUES:,} values"
        return Problem(path=at, message=message, hint=hint)
    return None


def _size_text(most: int) -> str:
    return f"{most // KIBIBYTE**2} MiB" if most % KIBIBYTE**2 == 0 else f"{most:,}"
