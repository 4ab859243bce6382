"""Inferred refusals: a plan that was inferred from names and the world refuses by conditions and searches
that no author wrote, and a rule that no record passes may have been misread. Each such refusal says so.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.core.text.json_text import Json

Refusal = tuple[int, str]  # status and error code of a reply

INFERRED_CONDITION = "refused by an inferred rule (no author wrote it)"
INFERRED_REFERENCE = (
    "refused by an inferred reference: the argument's name looks like an id, and there is no such record"
)
INFERRED_SEARCH = "not found by an inferred search over the names of arguments and fields"


def refusal_in(status: int, response: Json) -> Refusal | None:
    if status < 400 or not isinstance(response, dict):
        return None
    error = response.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return (status, code) if isinstance(code, str) else None


def inferred_refusals(body: Json) -> Mapping[Refusal, str]:
    """Of a plan that was read; steps with another note are rules of the behaviour text. That the record which
    a tool is about is not there, by its id, is no guess."""
    found: dict[Refusal, str] = {}
    for step in _steps(body):
        find = step.get("find")
        if "require" in step:
            found |= _refusals_of(step.get("else"), INFERRED_CONDITION)
        elif isinstance(find, dict) and step.get("note") == INFERRED_REFERENCE:
            found |= _refusals_of(find.get("else"), INFERRED_REFERENCE)
        elif isinstance(find, dict) and "id" not in find and "where" in find:
            found |= _refusals_of(find.get("else"), INFERRED_SEARCH)
    return found


def _refusals_of(failure: Json, note: str) -> dict[Refusal, str]:
    if not isinstance(failure, dict):
        return {}
    status, error = failure.get("status"), failure.get("error")
    return {(status, error): note} if isinstance(status, int) and isinstance(error, str) else {}


def _steps(block: Json) -> Iterator[dict[str, Any]]:
    for step in block if isinstance(block, list) else ():
        if isinstance(step, dict) and step.get("note") in (None, INFERRED_REFERENCE):
            yield step
            for key in ("then", "else", "do"):
                yield from _steps(step.get(key))
