"""Plans as files: YAML (or JSON), one plan per tool; problems carry their lines, and plans print readably."""

from collections.abc import Collection
from dataclasses import dataclass, field

from pipelines.core.simulation.language import Plan, parse_plan
from pipelines.core.text.json_text import Json, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.yaml_text import YamlText, as_yaml, has_odd_brackets, read_yaml

MAX_TEXT_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class PlansText:
    """What a file says: the body of each plan, and where all of it stands."""

    bodies: dict[str, Json]
    text: YamlText = field(repr=False)

    def placed(self, problem: Problem) -> Problem:
        """The problem with the line of the nearest thing that has one."""
        return self.text.placed(problem)


def parse_plans_text(
    text: str,
    *,
    tool_names: Collection[str] | None = None,
) -> dict[str, Plan]:
    """The plans of a file `{tool_name: [steps]}`, or Refused with all problems and their lines."""
    read = read_plans_text(text)
    plans: dict[str, Plan] = {}
    problems: list[Problem] = []
    for tool, body in read.bodies.items():
        at = pointer([tool])
        try:
            plans[tool] = parse_plan(body, origin="authored", path=at, tool_names=tool_names)
        except Refused as refused:
            problems.extend(refused.problems)
    if problems:
        raise Refused([read.placed(problem) for problem in problems], "the plans")
    return plans


def read_plans_text(text: str) -> PlansText:
    """The bodies of the plans, not yet checked as plans."""
    read = read_yaml(text, what="plan", most_bytes=MAX_TEXT_BYTES, key_complaint=_key_complaint)
    if not isinstance(read.value, dict):
        hint = "cancel_order:\n  - return: null"
        message = "the file must be a mapping from tools to plans"
        raise Refused([Problem(path="line 1", message=message, hint=hint)], "the file")
    return PlansText(bodies=read.value, text=read)


def _key_complaint(key: str) -> tuple[str, str] | None:
    if not has_odd_brackets(key):
        return None
    return f"`{key}` is only part of an expression", "put an expression with a comma inside {…} in quotes"


def plan_as_yaml(body: Json) -> str:
    """A plan as a person would write it: to read, copy, correct and keep."""
    return as_yaml(body)
