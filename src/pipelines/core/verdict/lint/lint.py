"""Oracle lint: what is wrong with a task's oracle before any agent has been run against it.

Warnings, not refusals: the task can be run, but its verdicts would prove less than its author hopes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.ledger.ledger_schema import EntityField, LedgerSchema, is_of_type
from pipelines.core.matchers.matching import MISSING, Path, is_matcher
from pipelines.core.oracles.constraint_check import read_check
from pipelines.core.oracles.expected_calls import ANY_TOOL, ExpectedCall, ExpectedCalls
from pipelines.core.oracles.expected_state import ExpectedState, assertion_paths
from pipelines.core.oracles.paths import FLAGS, NEW, path_text
from pipelines.core.oracles.wording import format_value
from pipelines.core.tasks.seed import Seed
from pipelines.core.tasks.task_columns import BY_AXIS
from pipelines.core.text.authored import did_you_mean
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.verdict.changes import value_at
from pipelines.core.verdict.constraints import ANSWER, REFUSAL_REASON
from pipelines.core.verdict.evidence import REFUSAL, RunEvidence
from pipelines.core.verdict.lint.lint_coverage import answer_problems, coverage_problems, unset_flags
from pipelines.core.verdict.lint.lint_guesses import guessed_oracles
from pipelines.core.verdict.oracles import Oracles, read_oracles
from pipelines.core.verdict.state_oracle import is_vacuous

_STATE, _CALLS, _CONSTRAINTS = "/expected_state", "/expected_calls", "/tracked_constraints"
#: Outcomes that leave the world as it was, and how a warning says so.
_UNCHANGING = {REFUSAL: "the task has to be refused", "no_change": "nothing may change"}


def lint_seeds(
    seeds: Sequence[Seed],
    *,
    tools: Sequence[Tool] | None = None,
    ledger_schema: LedgerSchema | None = None,
    may_read: Callable[[], bool] = lambda: True,
) -> list[Problem]:
    """Warnings for each seed, by row: 1 is the first. No further world is read once `may_read` says no."""
    found = [
        _in_row(problem, row)
        for row, seed in enumerate(seeds, start=1)
        for problem in lint_seed(seed, tools=tools, ledger_schema=ledger_schema)
    ]
    found += guessed_oracles(seeds, tools=tools, ledger_schema=ledger_schema, may_read=may_read)
    return sorted(found, key=lambda problem: problem.row or 0)


def lint_seed(
    seed: Seed, *, tools: Sequence[Tool] | None = None, ledger_schema: LedgerSchema | None = None
) -> list[Problem]:
    """Everything questionable about one seed's oracle; paths are JSON Pointers into the seed."""
    problems: list[Problem] = []
    names = [tool.name for tool in tools] if tools is not None else None
    oracles = read_oracles(
        expected_state=seed.expected_state,
        expected_calls=seed.expected_calls,
        expected_answer=seed.expected_answer,
        tools=names,
        problems=problems,
    )
    for index, constraint in enumerate(seed.tracked_constraints):
        if constraint.check is not None:
            place = f"{_CONSTRAINTS}/{index}/check"
            read_check(constraint.check, tools=names, path=place, problems=problems)
    if problems:
        return problems  # what cannot be read can be neither met nor missed
    evidence = RunEvidence.from_seed(seed, tools=tuple(tools or ()))
    if seed.expected_outcome in _UNCHANGING:
        found = [*_refusal(seed)] if seed.expected_outcome == REFUSAL else []
        found += _changes(_UNCHANGING[seed.expected_outcome], oracles, evidence)
    else:
        found = [*_vacuous_oracles(seed, oracles, evidence)]
    found += coverage_problems(seed, oracles, evidence)
    if oracles.answer is not None:
        found += answer_problems(oracles.answer, seed)
    if oracles.state is not None:
        found += _paths(oracles.state, evidence.world, ledger_schema)
    if oracles.calls is not None:
        found += _calls(oracles.calls, {tool.name: tool for tool in tools or ()})
    return [*found, *_constraints(seed), *unset_flags(seed, tools)]


# An agent that does nothing


def _vacuous_oracles(seed: Seed, oracles: Oracles, evidence: RunEvidence) -> Iterator[Problem]:
    has_answer = any(c.id == ANSWER and c.check is not None for c in seed.tracked_constraints)
    if has_answer or oracles.decide_completion(evidence):
        return
    message = "an agent that does nothing meets this, so meeting it proves nothing"
    if oracles.state is not None:
        hint = "assert what the task changes, or say under `expected_answer` what has to be answered"
        yield Problem(path=_STATE, message=message, hint=hint)
    elif oracles.calls is not None:
        yield Problem(
            path=_CALLS, message=message, hint="add the calls that completing the task needs to `must`"
        )


def _refusal(seed: Seed) -> Iterator[Problem]:
    place = "/expected_outcome"
    if not seed.behavior_instructions and not seed.initial_state:
        message = "there is nothing to refuse: no behaviour text and no state forbids what is asked"
        yield Problem(path=place, message=message, hint="say in `behavior` what the backend does not allow")
    elif not seed.behavior_instructions and not _has_reason(seed):
        message = "no behaviour text says why to refuse, so a refusal's reason can rarely be checked"
        hint = f"say it in `behavior`, or add a tracked constraint `{REFUSAL_REASON}` with a check"
        yield Problem(path=place, message=message, hint=hint)


def _changes(why: str, oracles: Oracles, evidence: RunEvidence) -> Iterator[Problem]:
    """What an oracle expects to change in a task that leaves the world as it was."""
    if oracles.state is not None and not is_vacuous(oracles.state, evidence):
        message = f"{why}, but this expects the world to change"
        yield Problem(path=_STATE, message=message, hint='{"unchanged": true}')
    for index, call in enumerate(oracles.calls.must if oracles.calls is not None else ()):
        if call.tool != ANY_TOOL and not evidence.tool_reads(call.tool) and call.only_successful:
            message = f"{why}, but this expects {call.tool} to succeed"
            yield Problem(path=f"{_CALLS}/must/{index}", message=message)


def _has_reason(seed: Seed) -> bool:
    return any(c.id == REFUSAL_REASON and c.check is not None for c in seed.tracked_constraints)


def _constraints(seed: Seed) -> Iterator[Problem]:
    for index, constraint in enumerate(seed.tracked_constraints):
        if constraint.check is None:
            message = f"`{constraint.id}` has no check, so every verdict waits for a person"
            hint = '"check": {"responses": {"$not": {"$contains": "…"}}}'
            yield Problem(path=f"{_CONSTRAINTS}/{index}", message=message, hint=hint)


# Whether the state can be reached


def _paths(expected: ExpectedState, world: World, schema: LedgerSchema | None) -> Iterator[Problem]:
    before = Ledger(world)
    for path, expected_value in assertion_paths(expected):
        yield from _type_problems(path, world, schema)
        yield from _id_problems(path, expected_value, before)
        yield from _field_problems(path, expected_value, world, schema)
    for path in expected.unchanged:
        if path and path[0] != FLAGS and value_at(before, path) is MISSING:
            message = f"`{path_text(path)}` is not in the initial state, so it cannot change"
            yield Problem(path=_STATE, message=message, hint=_near_id(path, before))


def _type_problems(path: Path, world: World, schema: LedgerSchema | None) -> Iterator[Problem]:
    entity_type = path[0]
    if entity_type == FLAGS and entity_type not in world.entities:
        if schema is not None and len(path) > 1 and not schema.allows_flag(path[1]):
            message = f"the ledger schema's flags do not include `{path[1]}`"
            yield Problem(path=_STATE, message=message, hint=did_you_mean(path[1], schema.flag_values))
    elif schema is not None and entity_type not in schema.entities:
        message = f"the ledger schema declares no entity type `{entity_type}`"
        yield Problem(path=_STATE, message=message, hint=did_you_mean(entity_type, schema.entities))
    elif schema is None and entity_type not in world.entities and path[1:2] != (NEW,):
        message = f"the initial state has no entity type `{entity_type}`"
        yield Problem(path=_STATE, message=message, hint=did_you_mean(entity_type, world.entities))


def _id_problems(path: Path, wanted: Json, before: Ledger) -> Iterator[Problem]:
    if len(path) < 2 or path[0] not in before.world.entities or path[1] == NEW:
        return
    if before.get(path[0], path[1]) is not None:
        return
    exists = wanted.get("$exists") if isinstance(wanted, dict) and len(path) == 2 else None
    if exists is True:
        return  # said plainly: it is to be added
    if exists is False:
        message = f"{path[0]} `{path[1]}` is not in the initial state, so its absence proves nothing"
    else:
        message = f"{path[0]} `{path[1]}` is not in the initial state; only a run that adds it can meet this"
    yield Problem(path=_STATE, message=message, hint=_near_id(path, before))


def _near_id(path: Path, before: Ledger) -> str | None:
    if len(path) < 2:
        return None
    similar = before.resolve_id(path[0], path[1])
    return f"did you mean `{similar}`?" if similar is not None and similar != path[1] else None


def _field_problems(path: Path, wanted: Json, world: World, schema: LedgerSchema | None) -> Iterator[Problem]:
    declared = schema.entities.get(path[0]) if schema is not None else None
    if declared is None or len(path) < 3:
        return
    known = declared.fields.get(path[2])
    seeded = world.entities.get(path[0], {})
    if known is None:
        hint = did_you_mean(path[2], declared.fields)
        if hint is not None and not any(path[2] in attrs for attrs in seeded.values()):
            yield Problem(path=_STATE, message=f"{path[0]} has no field `{path[2]}`", hint=hint)
    elif len(path) == 3:
        complaint = _unreachable(known, wanted)
        if complaint is not None:
            yield Problem(path=_STATE, message=f"`{path_text(path)}` can never hold this: {complaint}")


def _unreachable(known: EntityField, wanted: Json) -> str | None:
    """Why no value that the schema allows could be what is wanted; None when one may."""
    if not is_matcher(wanted) or not isinstance(wanted, dict):
        return known.complaint(wanted)
    options = wanted.get("$in")
    if isinstance(options, list) and not any(is_matcher(option) for option in options):
        complaints = [known.complaint(option) for option in options]
        return complaints[0] if all(complaints) else None
    if wanted.keys() & {"$gte", "$lte"} and known.type not in ("number", "integer"):
        return f"`{known.name}` is of type {known.type}, which has no order"
    if wanted.keys() & {"$regex", "$similar", "$text", "$date"} and known.type != "string":
        return f"`{known.name}` is of type {known.type}, not text"
    return None


# Whether the calls can be made


def _calls(expected: ExpectedCalls, tools: dict[str, Tool]) -> Iterator[Problem]:
    for index, call in enumerate(expected.must):
        place = f"{_CALLS}/must/{index}"
        if any(_forbids(never, call) for never in expected.must_not):
            message = f"{call.tool} must be called here, and must not be called further down"
            yield Problem(path=place, message=message)
        if call.tool in tools and isinstance(call.arguments, dict):
            yield from _argument_problems(call, tools[call.tool].input_schema, place)


def _forbids(never: ExpectedCall, call: ExpectedCall) -> bool:
    """Whether the one rules the other out, whatever its arguments."""
    return never.tool in (ANY_TOOL, call.tool) and not never.arguments


def _argument_problems(call: ExpectedCall, schema: JsonObject, place: str) -> Iterator[Problem]:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not isinstance(call.arguments, dict):
        return
    for name, expected_value in call.arguments.items():
        here = f"{place}/arguments{pointer([name])}"
        known = properties.get(name)
        if known is None and schema.get("additionalProperties") is False:
            hint = did_you_mean(name, properties)
            yield Problem(path=here, message=f"{call.tool} takes no argument `{name}`", hint=hint)
        elif (
            isinstance(known, dict)
            and not is_matcher(expected_value)
            and not isinstance(expected_value, dict)
        ):
            type, options = known.get("type"), known.get("enum")
            if isinstance(type, str) and type != "null" and not is_of_type(expected_value, type):
                yield Problem(
                    path=here,
                    message=f"{call.tool} takes a {type} for `{name}`, never {format_value(expected_value)}",
                )
            elif isinstance(options, list) and expected_value not in options:
                yield Problem(
                    path=here, message=f"{call.tool} never takes {format_value(expected_value)} for `{name}`"
                )


def _in_row(problem: Problem, row: int) -> Problem:
    """The same place as a person finds it in the file."""
    axis, _, inside = problem.path.lstrip("/").partition("/")
    column = BY_AXIS[axis].name
    path = f"row {row}, column {column}" + (f", at /{inside}" if inside else "")
    return replace(problem, path=path, row=row, column=column)
