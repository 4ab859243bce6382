"""Rows of coding tasks: the scenario they name, their overrides, and what cannot be run."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pipelines.core.coding.scenario import CodingScenario, read_eval
from pipelines.core.coding.workspace_seed import read_workspace_seed
from pipelines.core.tasks.seed import CONVERSATION, Seed
from pipelines.core.tasks.task_modes import has_axis, with_modes
from pipelines.core.text.authored import did_you_mean, kind
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem

REF = "scenario_ref"
OVERRIDES = ("workspace_seed", "setup_command", "eval")
HTTP_REFUSAL = (
    "is a coding task, but the agent is reached over HTTP: it would work on its own files, where"
    " the platform can neither set up nor compare anything"
)
HTTP_HINT = "register the agent as code (docs/howto/code-mode.md): it runs in the sandbox with the workspace"


@dataclass(frozen=True, kw_only=True, slots=True)
class CodingContext:
    """What rows are checked against."""

    #: Names and ids of the org's scenarios; None where nobody knows them: a file is looked at on its own.
    scenarios: frozenset[str] | None = None
    is_http_agent: bool = False
    allow_http: bool = False  # git servers without TLS

    def as_json(self) -> JsonObject:
        names: Json = [*sorted(self.scenarios)] if self.scenarios is not None else None
        return {"scenarios": names, "is_http_agent": self.is_http_agent, "allow_http": self.allow_http}

    @classmethod
    def from_json(cls, body: JsonObject) -> "CodingContext":
        listed = body.get("scenarios")
        return cls(
            scenarios=frozenset(map(str, listed)) if isinstance(listed, list) else None,
            is_http_agent=bool(body.get("is_http_agent")),
            allow_http=bool(body.get("allow_http")),
        )


ANY_SCENARIO = CodingContext(allow_http=True)


def coding_problems(axes: JsonObject, context: CodingContext) -> Iterator[Problem]:
    """By axis, beside whatever else is wrong with a row."""
    given = [axis for axis in (REF, *OVERRIDES) if has_axis(axes, axis)]
    if not given:
        return
    if given[0] != REF:
        hint = "name a scenario as `scenario_ref`; make one with POST /api/coding-scenarios"
        message = f"`{given[0]}` overrides a coding scenario, but the row has no `scenario_ref`"
        yield Problem(path=f"/{given[0]}", message=message, hint=hint)
        return
    yield from _scenario_problems(axes, context)
    read, _ = with_modes(axes)
    if read.get("turn_mode") == CONVERSATION:
        yield Problem(path="/turn_mode", message="a coding task has only one turn", hint="remove `turn_mode`")
    problems: list[Problem] = []
    _read_overrides(axes, problems, allow_http=context.allow_http)
    yield from problems


def _scenario_problems(axes: JsonObject, context: CodingContext) -> Iterator[Problem]:
    ref = axes[REF]
    if not isinstance(ref, str):
        return  # told by whoever reads the axis
    if context.is_http_agent:
        yield Problem(path=f"/{REF}", message=f"it {HTTP_REFUSAL}", hint=HTTP_HINT)
    if context.scenarios is not None and ref.strip() not in context.scenarios:
        near = did_you_mean(ref.strip(), context.scenarios)
        hint = near or "make it with POST /api/coding-scenarios, or pipelines coding"
        message = f"there is no coding scenario `{ref.strip()[:80]}`"
        yield Problem(path=f"/{REF}", message=message, hint=hint)


def _read_overrides(axes: JsonObject, problems: list[Problem], *, allow_http: bool) -> dict[str, Any]:
    """What `with_overrides` takes."""
    found: dict[str, Any] = {}
    if has_axis(axes, "workspace_seed"):
        value = axes["workspace_seed"]
        found["workspace_seed"] = read_workspace_seed(
            value, "/workspace_seed", problems, allow_http=allow_http
        )
    if has_axis(axes, "setup_command"):
        found["setup_command"] = axes["setup_command"]
    if has_axis(axes, "eval"):
        value = axes["eval"]
        if isinstance(value, str | list | dict):
            found["eval"] = read_eval(value, "/eval", problems)
        else:
            message = f"`eval` must be a command, or an array of scorers, not {kind(value)}"
            problems.append(Problem(path="/eval", message=message))
    return found


def with_scenario(seed: Seed, stored: JsonObject) -> Seed:
    """The seed with its scenario copied whole. What the row says otherwise was checked before."""
    scenario = CodingScenario.from_stored(stored)
    overrides = _read_overrides(seed.as_json(), [], allow_http=True)
    merged = replace(
        scenario.with_overrides(**overrides),
        user_instruction=seed.user_instruction,
    )
    return replace(seed, coding_scenario=merged.as_json())
