"""Refusals that nobody wrote down: a plan that was read refuses by conditions and searches that it inferred,
and a rule that nothing in the world passes may have been misread. Each such refusal says so.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.core.text.json_text import Json

Refusal = tuple[int, str]  # status and error code of a reply

CONDITION = "refused by a condition that was read from names and the world, not by one that somebody wrote"
REFERENCE = "an id that was taken for a reference by its name: one that is not there is refused"
SEARCH = "not found by a search that was read from the names of arguments and fields: another one may find it"


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
            found |= _told(step.get("else"), CONDITION)
        elif isinstance(find, dict) and step.get("note") == REFERENCE:
            found |= _told(find.get("else"), REFERENCE)
        elif isinstance(find, dict) and "id" not in find and "where" in find:
            found |= _told(find.get("else"), SEARCH)
    return found


def _told(failure: Json, note: str) -> dict[Refusal, str]:
    if not isinstance(failure, dict):
        return {}
    status, error = failure.get("status"), failure.get("error")
    return {(status, error): note} if isinstance(status, int) and isinstance(error, str) else {}


def _steps(block: Json) -> Iterator[dict[str, Any]]:
    for step in block if isinstance(block, list) else ():
        if isinstance(step, dict) and step.get("note") in (None, REFERENCE):
            yield step
            for key in ("then", "else", "do"):
                yield from _steps(step.get(key))
