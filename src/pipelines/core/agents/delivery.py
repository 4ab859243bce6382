"""How the text of a variation reaches the agent."""

from typing import Literal, TypeAlias, cast

from pipelines.core.text.authored import did_you_mean, kind, quote_names
from pipelines.core.text.json_text import Json
from pipelines.core.text.problems import Problem

Delivery: TypeAlias = Literal["system", "user", "tool_result"]

#: Into the system prompt, by the agent's own side; ahead of what the user says; or in what tools answer.
DELIVERIES: tuple[Delivery, ...] = ("system", "user", "tool_result")
DEFAULT_DELIVERY: Delivery = "system"


def delivery_problem(value: Json, path: str, what: str = "`delivery`") -> Problem | None:
    """Why a value is not a valid delivery; None if it is."""
    if value in DELIVERIES:
        return None
    choices = quote_names(DELIVERIES)
    quoted = f"`{value[:80]}`" if isinstance(value, str) else kind(value)
    near = did_you_mean(value, DELIVERIES) if isinstance(value, str) else None
    return Problem(path=path, message=f"{what} must be {choices}, not {quoted}", hint=near)


def delivery_for(requested: str | None, of_agent: str) -> Delivery:
    """What a request asks for, else what the agent is set to; both were checked when they were written."""
    return cast(Delivery, requested if requested is not None else of_agent)
