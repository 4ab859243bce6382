"""The question to a model for the plan of one tool: the language in short, and what is known of the tool."""

from itertools import islice

from pipelines.core.models.model_question import ModelMessage, ModelQuestion, Purpose
from pipelines.core.simulation.build import PlannedSimulator
from pipelines.core.simulation.by_model.prompt import as_data
from pipelines.core.simulation.fidelity.recording import Recording
from pipelines.core.text.fence import fence_word, fenced, rule_of
from pipelines.core.text.json_text import Json, JsonObject, dumps

#: Changes with every change of the text below: answers are kept under it.
VERSION = "plans/1"
MOST_RECORDS = 3  # of a type that are shown
MOST_TYPES = 40
MOST_CALLS = 12  # of a recording that are shown
LONGEST_PART = 2_000  # characters of one record, or one recorded call
MOST_STEPS = 60

INSTRUCTIONS = """\
You write the plan of one tool of a simulated backend: a list of steps over records, as JSON. You get \
one JSON object with the tool, the author's text on how the backend behaves, types and records of the \
world, the plan the tool has now (a guess, perhaps wrong) and, where there are any, recorded calls of \
the real backend. Write what the real backend does, as simply as you can, and nothing that you are not \
told.

A plan is a list of steps, each an object with exactly one verb:
- {"find": {"as": "order", "in": "order", "id": "args.order_id"}} binds a record; without one the call \
fails with 404. `where` is an expression in which the name after `as` stands for the candidate; `all: \
true` binds a list, with `sort` (a field, -field for the other way round) and `limit`; `optional: true` \
binds null; `else` is a FAILURE.
- {"require": "order.status == 'pending'", "else": FAILURE} goes on only if it holds.
- {"let": {"total": "EXPRESSION"}} names values.
- {"set": {"order.status": "'cancelled'"}} changes a record. {"unset": "order.note"} takes an attribute \
away.
- {"append": {"order.notes": "args.text"}} adds at the end of a list.
- {"add": {"in": "refund", "as": "refund", "attrs": {"order_id": "order.id", "amount": "order.total"}}} \
makes a record; its id follows the pattern of its type.
- {"remove": "order"} removes a record. {"flag": "'name'"} and {"unflag": "'name'"} set and clear a \
flag.
- {"for": "line", "in": "order.items", "do": [steps]}; {"if": "EXPRESSION", "then": [steps], "else": \
[steps]}
- {"fail": FAILURE} ends the call with an error; {"return": VALUE, "status": 200} ends it with a reply.
FAILURE is {"status": 409, "error": "already_shipped", "message": "Order {order.id} has shipped"}.
A VALUE that is text is an expression, so literal text has quotes of its own: "'cancelled'". Mappings \
and lists hold values; "...": EXPRESSION spreads an object into a mapping.

Expressions are a small part of Python's: literals, fields by dots, + - * / // %, comparisons, in, and, \
or, not, `a if condition else b`, comprehensions, f'…'. true, false and null are written so. No methods \
and no lambdas; functions are sum min max abs round floor ceil number int str lower upper strip split \
join replace contains starts_with ends_with like len any all sort top unique flatten first last find \
count keys values items pick without merge default days_between add_days. `args` is the call's \
arguments, `today` and `now` are text. A field that is not there equals null; in arithmetic it is an \
error, so use default(x, 0).
"""


def plan_schema() -> JsonObject:
    return {
        "type": "object",
        "properties": {
            "why": {"type": "string", "maxLength": 1_000},
            "steps": {"type": "array", "items": {"type": "object"}, "minItems": 1, "maxItems": MOST_STEPS},
        },
        "required": ["why", "steps"],
        "additionalProperties": False,
    }


def plan_question(name: str, simulator: PlannedSimulator, recording: Recording | None) -> ModelQuestion:
    tool, found = simulator.tools[name], simulator.plan_of(name)
    data: JsonObject = {
        "tool": {
            "name": tool.name,
            "description": tool.description,
            "arguments": tool.input_schema,
            "reply": tool.output_schema,
        },
        "behaviour": simulator.behavior_text or None,
        "world": _world(simulator),
        "present_plan": found.plan.as_json() if found.plan is not None else None,
        "not_clear": [*found.notes],
        "recorded_calls": _calls(name, recording) if recording is not None else [],
    }
    word = fence_word("plans", dumps(data).decode())
    request = f"Write the plan.\n{fenced(word, as_data(data))}"
    return ModelQuestion(
        purpose=Purpose.AUTHOR,
        prompt_version=VERSION,
        system=f"{INSTRUCTIONS}\n{rule_of(word)}",
        messages=(ModelMessage(role="user", content=request),),
        schema=plan_schema(),
        max_output_tokens=8_192,
    )


def _world(simulator: PlannedSimulator) -> JsonObject:
    types: JsonObject = {}
    for kind, entities in islice(simulator.world.entities.items(), MOST_TYPES):
        records: JsonObject = {}
        for id, attrs in islice(entities.items(), MOST_RECORDS):
            text = dumps(attrs).decode()
            records[id] = attrs if len(text) <= LONGEST_PART else text[:LONGEST_PART]
        types[kind] = {"count": len(entities), "some": records}
    return types


def _calls(name: str, recording: Recording) -> list[Json]:
    every = (call for task in recording.tasks for call in task.calls if call.tool == name)
    examples: list[Json] = []
    for call in islice(every, MOST_CALLS):
        one: JsonObject = {
            "arguments": call.arguments,
            "response": call.response,
            "changes": [update.as_json() for update in call.updates],
        }
        text = dumps(one).decode()
        examples.append(one if len(text) <= LONGEST_PART else text[:LONGEST_PART])
    return examples
