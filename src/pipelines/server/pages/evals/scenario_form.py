"""The form of a scenario: its fields, the body that they make, and problems by field.

What the form has no field for goes along as JSON in `rest`, so that nothing is lost between form and text.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pipelines.core.evals.scenarios.scenario import EXPECTATIONS, FIELDS
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, dumps, loads
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.yaml_text import as_yaml, read_yaml
from pipelines.server.pages.form_fields import number_or_text, problems_by_field

LONGEST_FIELD = 64 * 1024  # characters of one field in YAML
REST = "rest"
VARIATION = "variation_"
LABELS = {
    "name": "Name",
    "description": "Description",
    "risk_level": "Risk",
    "agent_id": "Agent",
    "instruction": "Instruction",
    "input_context": "Input of the agent",
    "expected_behavior": "Expected output",
    "prohibited": "Prohibited outputs",
    "decision_fields": "Fields that hold the decision",
    "match_mode": "Other fields of the output",
    "observe": "What is compared",
    "tags": "Tags",
}
_TEXTS = ("name", "description", "risk_level", "instruction")
_CHOICES = {"match_mode": "subset", "observe": "final_response"}  # with what is left out
_DOCUMENTS = ("input_context", "expected_behavior", "prohibited")
_LISTS = ("decision_fields", "tags")


def fields_of(body: JsonObject) -> dict[str, str]:
    """The fields filled in with a scenario, as it is stored or as somebody typed it."""
    typed = {name: _text(body.get(name)) for name in (*_TEXTS, "agent_id")}
    typed |= {name: _text(body.get(name)) or default for name, default in _CHOICES.items()}
    for name in _DOCUMENTS:
        value = body.get(name)
        typed[name] = as_yaml(value).strip() if value not in (None, [], {}) else ""
    for name in _LISTS:
        listed = body.get(name)
        typed[name] = "\n".join(map(_text, listed)) if isinstance(listed, list) else ""
    cells = body.get("variations")
    for id, cell in cells.items() if isinstance(cells, dict) else ():
        expectation = cell.get("expectation") if isinstance(cell, dict) else None
        typed[VARIATION + id] = _text(expectation) or EXPECTATIONS[0]
    rest = {name: value for name, value in body.items() if name in FIELDS and name not in LABELS}
    return typed | {REST: dumps(rest).decode()}


def body_of(typed: Mapping[str, str]) -> tuple[JsonObject, list[Problem]]:
    """The scenario as the fields say, not checked yet, with the fields that are not YAML."""
    problems: list[Problem] = []
    rest = _rest(typed.get(REST, ""))
    body: JsonObject = {}
    for name in _TEXTS:
        if text := typed.get(name, "").replace("\r\n", "\n").strip():
            body[name] = text
    if agent := typed.get("agent_id", "").strip():
        body["agent_id"] = number_or_text(agent)
    for name, default in _CHOICES.items():
        if (text := typed.get(name, "") or default) != default:
            body[name] = text
    for name in _DOCUMENTS:
        _read_document(typed, name, body, problems)
    for name in _LISTS:
        listed: list[Json] = [line.strip() for line in typed.get(name, "").splitlines() if line.strip()]
        body |= {name: listed} if listed else {}
    cells = _cells(typed, rest.pop("variations", None))
    return body | rest | ({"variations": cells} if cells else {}), problems


def has_more(typed: Mapping[str, str]) -> bool:
    """Whether the scenario has parts that the form does not show."""
    rest = _rest(typed.get(REST, ""))
    cells = rest.pop("variations", None)
    details = [cell for cell in cells.values() if isinstance(cell, dict)] if isinstance(cells, dict) else []
    return bool(rest) or any(cell.keys() - {"expectation"} for cell in details)


def form_problems(problems: Sequence[Problem]) -> dict[str, Any]:
    """By field; those of a variation, or of what the form has no field for, are under ""."""
    return problems_by_field(problems, LABELS)


def variation_choices(
    typed: Mapping[str, str], known: Collection[tuple[str, str]]
) -> list[tuple[str, str, str]]:
    """(id, name, expectation) of each variation that a scenario can say something of."""
    return [(id, name, typed.get(VARIATION + id) or EXPECTATIONS[0]) for id, name in known]


def _read_document(typed: Mapping[str, str], name: str, body: JsonObject, problems: list[Problem]) -> None:
    text = typed.get(name, "").replace("\r\n", "\n")
    if not text.strip():
        return
    try:
        body[name] = read_yaml(text, what="scenario", most_bytes=LONGEST_FIELD).value
    except Refused as refused:
        problems += [
            Problem(path=f"/{name}", message=_said(problem), hint=problem.hint)
            for problem in refused.problems
        ]


def _said(problem: Problem) -> str:
    return f"{problem.path}: {problem.message}" if problem.path else problem.message


def _cells(typed: Mapping[str, str], before: Json) -> JsonObject:
    """What is expected under each variation. A cell that says more than its expectation keeps the rest."""
    cells: JsonObject = dict(before) if isinstance(before, dict) else {}
    for field, expectation in typed.items():
        if not field.startswith(VARIATION):
            continue
        id = field.removeprefix(VARIATION)
        cell = cells.get(id)
        details: JsonObject = dict(cell) if isinstance(cell, dict) else {}
        details.pop("expectation", None)
        if expectation in ("", EXPECTATIONS[0]) and not details:
            cells.pop(id, None)
        else:
            details["expectation"] = expectation
            cells[id] = details
    return cells


def _rest(text: str) -> JsonObject:
    try:
        value = loads(text.encode())
    except InvalidJson:
        return {}
    return {name: part for name, part in value.items() if name in FIELDS} if isinstance(value, dict) else {}


def _text(value: Json) -> str:
    return "" if value is None else value if isinstance(value, str) else dumps(value).decode()
