"""The `check` of a tracked constraint: what the agent must say, turn by turn, and what it must call.

{"id": "codes", "description": "Tells no code.", "check": {"responses": {"$not": {"$regex": "[0-9]{6}"}}}}
"""

from collections.abc import Collection
from dataclasses import dataclass

from pipelines.core.matchers.matching import check_expectation
from pipelines.core.oracles.expected_calls import ExpectedCalls, read_expected_calls
from pipelines.core.text.authored import Fields, as_object, quote_names
from pipelines.core.text.json_text import Json
from pipelines.core.text.problems import Problem, Refused

CHECKS = ("responses", "final_response", "calls")


@dataclass(frozen=True, kw_only=True, slots=True)
class ConstraintCheck:
    """What must hold, all of it; None is not asked."""

    responses: Json = None  # an expectation on every turn of the agent
    final_response: Json = None  # an expectation on the last one
    calls: ExpectedCalls | None = None


def parse_check(body: Json, *, tools: Collection[str] | None = None, path: str = "/check") -> ConstraintCheck:
    problems: list[Problem] = []
    check = read_check(body, tools=tools, path=path, problems=problems)
    if problems:
        raise Refused(problems, "check")
    return check


def read_check(
    body: Json, *, tools: Collection[str] | None, path: str, problems: list[Problem]
) -> ConstraintCheck:
    """What can be read of a constraint's `check`; what is wrong with the rest is added to `problems`."""
    whole = as_object(body, path, problems, "`check`")
    if whole is None:
        return ConstraintCheck()
    fields = Fields(whole, path, problems)
    fields.refuse_unknown(CHECKS)
    if not any(fields.has(name) for name in CHECKS):
        hint = '{"responses": {"$not": {"$contains": "password"}}}'
        problems.append(Problem(path=path, message=f"`check` needs {quote_names(CHECKS)}", hint=hint))
    for name in ("responses", "final_response"):
        problems.extend(check_expectation(fields.get(name), path=fields.at(name)))
    calls = None
    if fields.has("calls"):
        calls = read_expected_calls(
            fields.get("calls"), tools=tools, path=fields.at("calls"), problems=problems
        )
    return ConstraintCheck(
        responses=fields.get("responses"), final_response=fields.get("final_response"), calls=calls
    )
