"""Parses scorers strictly and collects all problems."""

from typing import Any

from pipelines.core.coding.paths import glob_complaint, path_complaint
from pipelines.core.coding.scorers import (
    COMMON_FIELDS,
    DEFAULT_TIMEOUT_S,
    LOGS_FOLDER,
    LONGEST_TIMEOUT_S,
    OWN_FIELDS,
    RECORDS,
    TYPES,
    Scorer,
)
from pipelines.core.text.authored import Fields, as_list, as_object, kind
from pipelines.core.text.json_text import Json, pointer
from pipelines.core.text.problems import Problem

MOST_SCORERS = 50
MOST_TESTS = 20_000
MOST_PATHS = 1_000
LONGEST_COMMAND = 65_536
LONGEST_TEXT = 1_048_576


def read_scorers(value: Json, path: str, problems: list[Problem]) -> tuple[Scorer, ...]:
    """Every scorer that can be read; what is wrong is added to `problems`."""
    listed = as_list(value, path, problems, "`scorers`") or []
    if len(listed) > MOST_SCORERS:
        message = f"there are {len(listed)} scorers; at most {MOST_SCORERS} are allowed"
        problems.append(Problem(path=path, message=message))
        return ()
    found: dict[str, Scorer] = {}
    for index, entry in enumerate(listed):
        place = path + pointer([index])
        scorer = _read_scorer(entry, place, problems)
        if scorer is not None and scorer.name in found:
            problems.append(Problem(path=place, message=f"two scorers have the name `{scorer.name}`"))
        if scorer is not None:
            found[scorer.name] = scorer
    return tuple(found.values())


def _read_scorer(entry: Json, path: str, problems: list[Problem]) -> Scorer | None:
    body = as_object(entry, path, problems, "a scorer")
    if body is None:
        return None
    before = len(problems)
    fields = Fields(body, path, problems)
    fields.require("name", "the name of its result")
    fields.require("type", "one of " + ", ".join(TYPES))
    type = fields.choice("type", TYPES)
    name = fields.text("name", longest=100)
    if type is None:
        return None
    fields.refuse_unknown((*COMMON_FIELDS, *OWN_FIELDS[type]))
    common: dict[str, Any] = {
        "name": name,
        "type": type,
        "required": read_flag(fields, "required", default=True),
        "weight": read_number(fields, "weight", 1.0, least=0.0, most=1_000.0),
    }
    own = _READERS[type](fields)
    return RECORDS[type](**common, **own) if len(problems) == before else None


def _command(fields: Fields) -> dict[str, Any]:
    fields.require("command", "run by sh in the workspace, such as python -m pytest -q")
    reward = fields.text("reward_file", longest=500)
    if reward is not None and not reward.startswith(f"{LOGS_FOLDER}/") and path_complaint(reward):
        hint = f"a path in the workspace, or below {LOGS_FOLDER}"
        fields.refuse("reward_file", f"`{reward[:80]}` {path_complaint(reward)}", hint)
    if fields.has("pass_at") and reward is None:
        fields.refuse("pass_at", "`pass_at` needs `reward_file`")
    return {
        "command": fields.text("command", longest=LONGEST_COMMAND),
        "timeout_s": _timeout(fields),
        "reward_file": reward,
        "pass_at": read_number(fields, "pass_at", 1.0, least=0.0, most=1.0),
    }


def _tests(fields: Fields) -> dict[str, Any]:
    found = {key: tuple(dict.fromkeys(fields.texts(key))) for key in ("fail_to_pass", "pass_to_pass")}
    if not any(fields.has(key) for key in found):
        fields.refuse("fail_to_pass", "names no tests", 'such as ["tests/test_sum.py::test_adds"]')
    for key, tests in found.items():
        if len(tests) > MOST_TESTS:
            fields.refuse(key, f"`{key}` names {len(tests):,} tests; at most {MOST_TESTS:,} are allowed")
        for index, test in enumerate(tests):
            if test.startswith("-") or "\n" in test:
                place = fields.at(key) + pointer([index])
                fields.problems.append(Problem(path=place, message=f"`{test[:80]}` is not a valid test name"))
    command = fields.text("command", longest=LONGEST_COMMAND)
    return {**found, "command": command, "timeout_s": _timeout(fields)}


def _timeout(fields: Fields) -> int:
    return fields.whole_number("timeout_s", DEFAULT_TIMEOUT_S, least=1, most=LONGEST_TIMEOUT_S)


def _globs(fields: Fields, *, is_needed: bool = True) -> tuple[str, ...]:
    if is_needed:
        fields.require("paths", 'globs, such as ["src/**", "README.md"]')
    paths = fields.texts("paths")
    if len(paths) > MOST_PATHS:
        fields.refuse("paths", f"`paths` has {len(paths):,} entries; at most {MOST_PATHS:,} are allowed")
    for index, path in enumerate(paths):
        if (complaint := glob_complaint(path)) is not None:
            place = fields.at("paths") + pointer([index])
            fields.problems.append(Problem(path=place, message=f"`{path[:80]}` {complaint}"))
    return paths


def _paths(fields: Fields) -> dict[str, Any]:
    return {"paths": _globs(fields)}


def _diff_contains(fields: Fields) -> dict[str, Any]:
    fields.require("text", "what the changed lines must contain")
    return {
        "text": fields.text("text", longest=LONGEST_COMMAND),
        "lines": fields.choice("lines", ("added", "removed"), "added"),
        "paths": _globs(fields, is_needed=False),
    }


def _file_equals(fields: Fields) -> dict[str, Any]:
    fields.require("path")
    fields.require("text", "the exact content that the file must have")
    path = fields.text("path")
    if path is not None and (complaint := path_complaint(path)) is not None:
        fields.refuse("path", f"`{path[:80]}` {complaint}")
    return {"path": path, "text": fields.text("text", longest=LONGEST_TEXT, may_be_blank=True)}


def _max_diff_lines(fields: Fields) -> dict[str, Any]:
    fields.require("max", "the most lines that may be added and removed together")
    return {"max": fields.whole_number("max", 0, least=0, most=10_000_000)}


_READERS = {
    "command": _command,
    "tests": _tests,
    "allowed_paths": _paths,
    "forbid_paths": _paths,
    "diff_contains": _diff_contains,
    "file_equals": _file_equals,
    "max_diff_lines": _max_diff_lines,
}


def read_flag(fields: Fields, key: str, *, default: bool) -> bool:
    value = fields.get(key)
    if value is not None and not isinstance(value, bool):
        fields.refuse(key, f"`{key}` must be true or false, not {kind(value)}")
    return value if isinstance(value, bool) else default


def read_number(fields: Fields, key: str, default: float, *, least: float, most: float) -> float:
    value = fields.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        quoted = value if isinstance(value, int | float) and not isinstance(value, bool) else kind(value)
        fields.refuse(key, f"`{key}` must be a number from {least:g} to {most:g}, not {quoted}")
        return default
    return float(value)
