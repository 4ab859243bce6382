"""The plan language: parses and checks the plans that authors write.

Every problem of a plan is collected, with a JSON Pointer to the place and, where there is one, the word that
was probably meant. What a step takes is in plan_verbs, what it does in run_plan.
"""

import contextlib
import copy
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

from pipelines.core.limits.lazy_property import lazy_property
from pipelines.core.simulation.emit import Code, emitted
from pipelines.core.simulation.interpret import run_block
from pipelines.core.simulation.plan_checker import CheckAbandoned, Checker, under
from pipelines.core.simulation.plan_verbs import read_block
from pipelines.core.simulation.syntax import steps as plan_steps
from pipelines.core.text.json_text import Json, depth
from pipelines.core.text.problems import Refused
from pipelines.core.tools.failure_rules import MAX_LATENCY_MS

Origin: TypeAlias = Literal["authored", "read", "model"]

MAX_BODY_DEPTH = 30  # steps within steps and values within values; far past what anyone can read


@dataclass(frozen=True, kw_only=True)  # no slots: `code` is kept beside the fields
class Plan:
    """A checked plan and where it came from. `body` is what was written; it must not be changed."""

    origin: Origin
    body: Json = field(repr=False)
    steps: tuple[plan_steps.Step, ...] = field(repr=False, compare=False)
    remembered_tools: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    def as_json(self) -> Json:
        return copy.deepcopy(self.body)

    @lazy_property
    def code(self) -> Code:
        """Runs the plan. Emitted when it is first needed: a plan that is only checked never is."""
        return emitted(self.steps) or partial(run_block, self.steps)


def parse_plan(
    body: Json,
    *,
    origin: Origin,
    path: str = "/simulation",
    argument_names: Collection[str] | None = None,
    entity_types: Collection[str] | None = None,
    tool_names: Collection[str] | None = None,
) -> Plan:
    """The plan an author wrote, or Refused with everything that is wrong with it.

    With `argument_names`, `entity_types` and `tool_names`, arguments the tool does not have, types the world
    does not have and tools the agent does not have are problems too.
    """
    block, at = (body.get("steps"), under(path, "steps")) if isinstance(body, dict) else (body, path)
    checker = Checker(
        arguments=None if argument_names is None else frozenset(argument_names),
        entity_types=None if entity_types is None else frozenset(entity_types),
        tools=None if tool_names is None else frozenset(tool_names),
        written=frozenset(_written_names(block)) if depth(body) <= MAX_BODY_DEPTH else frozenset(),
    )
    found: tuple[plan_steps.Step, ...] = ()
    if depth(body) > MAX_BODY_DEPTH:
        checker.problem(path, f"the plan is nested deeper than {MAX_BODY_DEPTH} levels")
    else:
        with contextlib.suppress(CheckAbandoned):  # the problems say why
            _check_head(checker, body, path)
            found = read_block(checker, block, {}, at)
    if checker.problems:
        raise Refused(checker.problems, "the plan")
    remembered = frozenset(checker.remembered)
    return Plan(origin=origin, body=copy.deepcopy(body), steps=found, remembered_tools=remembered)


def _check_head(checker: Checker, body: Json, path: str) -> None:
    """What stands beside the steps."""
    if not isinstance(body, dict):
        return
    checker.unknown_keys(body, ("steps", "description", "latency_ms", "asserted"), path)
    _check_latency(checker, body.get("latency_ms", 0), under(path, "latency_ms"))
    if not isinstance(body.get("description", ""), str):
        checker.problem(under(path, "description"), "`description` must be text")
    if not isinstance(body.get("asserted", False), bool):
        checker.problem(under(path, "asserted"), "`asserted` must be true or false")


def _check_latency(checker: Checker, value: Json, path: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_LATENCY_MS:
        checker.problem(
            path, f"`latency_ms` must be a whole number from 0 to {MAX_LATENCY_MS}", "such as 800"
        )


def read_latency(body: Json) -> int:
    """How long the replies of a checked plan are held back, in milliseconds."""
    latency_ms = body.get("latency_ms") if isinstance(body, dict) else None
    return latency_ms if isinstance(latency_ms, int) else 0


def _written_names(block: Json) -> set[str]:
    """Names that stand first in a path which some step changes."""
    if isinstance(block, list):
        return {name for step in block for name in _written_names(step)}
    if not isinstance(block, dict):
        return set()
    paths: list[Json] = []
    for verb in ("set", "append", "unset", "remove"):
        target = block.get(verb)
        paths.extend(target if isinstance(target, (list, dict)) else [target])
    roots = (re.match(r"\s*(\w+)", path) for path in paths if isinstance(path, str))
    inner = (_written_names(block.get(key)) for key in ("do", "then", "else"))
    return {root[1] for root in roots if root}.union(*inner)
