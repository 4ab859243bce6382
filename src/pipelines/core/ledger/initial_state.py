"""Initial states: `{entity_type: {entity_id: {...attributes}}}`, and flags as `{"flags": {name: true}}`."""

from collections.abc import Iterator

from pipelines.core.ledger.ledger import is_flag_section
from pipelines.core.ledger.ledger_schema import LedgerSchema, state_problems
from pipelines.core.text.authored import kind
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused

SHAPE = 'the shape is {"order": {"4521": {"status": "paid"}}}'


def parse_initial_state(
    body: Json, *, ledger_schema: LedgerSchema | None = None, path: str = "/initial_state"
) -> JsonObject:
    """The state, or Refused with every place that is not of the shape or not in the schema."""
    problems: list[Problem] = []
    state = read_initial_state(body, ledger_schema=ledger_schema, path=path, problems=problems)
    if problems:
        raise Refused(problems, "initial_state")
    return state


def read_initial_state(
    body: Json, *, ledger_schema: LedgerSchema | None, path: str, problems: list[Problem]
) -> JsonObject:
    if body is None:
        return {}
    if not isinstance(body, dict):
        message = f"the initial state must be a JSON object, not {kind(body)}"
        problems.append(Problem(path=path, message=message, hint=SHAPE))
        return {}
    misshapen = list(_shape_problems(body, path))
    problems.extend(misshapen)
    if ledger_schema is not None and not misshapen:
        problems.extend(state_problems(ledger_schema, body, path))
    return body


def _shape_problems(state: JsonObject, path: str) -> Iterator[Problem]:
    if state.keys() == {"initial_state"}:
        # An easy slip that would otherwise pass as one entity type of that name.
        hint = "remove the outer `initial_state`"
        yield Problem(path=path, message="the initial state is wrapped in itself", hint=hint)
        return
    for entity_type, of_type in state.items():
        place = path + pointer([entity_type])
        if not entity_type.strip():
            yield Problem(path=place, message="an entity type has an empty name", hint=SHAPE)
        if not isinstance(of_type, dict):
            message = f"`{entity_type}` must be an object of entities by id, not {kind(of_type)}"
            yield Problem(path=place, message=message, hint=SHAPE)
        elif not is_flag_section(entity_type, of_type):
            yield from _entity_problems(entity_type, of_type, place)


def _entity_problems(entity_type: str, of_type: JsonObject, path: str) -> Iterator[Problem]:
    for id, attrs in of_type.items():
        if isinstance(attrs, dict):
            continue
        message = f"{entity_type} `{id}` must be an object of attributes, not {kind(attrs)}"
        hint = "every flag must be true or false" if entity_type == "flags" else SHAPE
        yield Problem(path=path + pointer([id]), message=message, hint=hint)
