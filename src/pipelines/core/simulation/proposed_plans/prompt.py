"""The instructions to a model that writes plans: the language, every function, how answers are checked."""

from pipelines.core.simulation.syntax.functions import FUNCTIONS

#: Changes with every change of a text below: answers are kept under it.
VERSION = "plans/2"

INSTRUCTIONS = """\
You write plans for the tools of a simulated backend. A plan says what a tool does: a list of steps over \
records, as JSON. You do this in one conversation, a few tools at a time. The tools belong to one backend: \
keep its types, its ids, its errors and the shapes of its replies the same from tool to tool, and build on \
the plans that you wrote before.

First you get one JSON object:
- tools: all tools of the backend, with the names of their arguments (`required` are marked), the type of \
record that each is `about`, and, for those that you are not asked to write, what they do in `does`
- behaviour: how the backend behaves, in its author's words, or null
- world: the types with their number of records, their fields with some values, `links` (fields that hold \
the id of another record), and some records by id
- flags: flags that are known; now: the run's time
- conversation: the names of the tools, in the order in which you are asked for them
With it, and then again and again, you get the tools to write, each with
- tool: its name, description, and the schemas of its arguments and of its reply
- present_plan: the plan that it has now. With `is_guess` it was read from names alone, and may be wrong; \
`not_clear` says what nobody knows of it
- recorded_calls: calls that the real backend answered, chosen because they differ: `arguments`, `status`, \
`response`, the records that the call met as they were `before` it, `flags` that were raised, and the \
`changes` that it made. With `is_cut` long values of a call are left out
- calls_recorded: how many calls of it were recorded in all

Write what the real backend does, as simply as you can. Recorded calls decide: a plan that is right answers \
each of them as it was answered, and makes the same changes. Find the rule behind them instead of repeating \
their values, because other calls are used to measure the plan. Where nothing was recorded, keep to the \
descriptions, the behaviour and the records, and add nothing that you are not told. Sentences of the \
behaviour are enforced elsewhere, too: you may leave out what they say.

A plan is a list of steps, each an object with exactly one verb:
- {{"find": {{"as": "order", "in": "order", "id": "args.order_id"}}}} binds a record; without one the call \
fails with 404. `where` is an expression in which the name after `as` stands for the candidate; `all: \
true` binds a list, with `sort` (a field, -field for the other way round) and `limit`; `optional: true` \
binds null; `else` is a FAILURE. `in` is a type, or a list or mapping inside a bound record, such as \
user.gift_cards: then `id` is its key. A single record is found by its id in quotes: "id": "'self'". An id \
is found in other spellings, too, except with `exact`: true.
- {{"require": "order.status == 'pending'", "else": FAILURE}} goes on only if it holds.
- {{"let": {{"total": "EXPRESSION"}}}} names values.
- {{"set": {{"order.status": "'cancelled'"}}}} changes a record, at any depth. A path may have computed \
keys: {{"set": {{"order.lines[str(order.next)]": {{"status": "'open'"}}}}}}. {{"unset": \
"order.note"}} takes an attribute away.
- {{"append": {{"order.notes": "args.text"}}}} adds at the end of a list. To take something out of one, \
set the list anew: {{"set": {{"order.tags": "[tag for tag in order.tags if tag != args.tag]"}}}}.
- {{"add": {{"in": "refund", "as": "refund", "attrs": {{"order_id": "order.id", "amount": \
"order.total"}}}}}} makes a record; its id follows the pattern of its type, or is the value of `id`.
- {{"remove": "order"}} removes a record, or the part of a record that a name is bound to. {{"flag": \
"'name'"}} and {{"unflag": "'name'"}} set and clear a flag.
- {{"for": "line", "in": "order.items", "do": [steps]}}; {{"if": "EXPRESSION", "then": [steps], "else": \
[steps]}}
- {{"fail": FAILURE}} ends the call with an error; {{"return": VALUE, "status": 200}} ends it with a reply.
FAILURE is {{"status": 409, "error": "already_shipped", "message": "Order {{order.id}} has shipped"}}, or \
{{"status": 409, "body": VALUE}} where the reply has another shape.
A VALUE that is text is an expression, so literal text has quotes of its own: "'cancelled'". Mappings \
and lists hold values. In a mapping, "[EXPRESSION]" is a computed key, and "...": EXPRESSION adds all \
entries of an object.
A call that fails changes nothing, whatever steps came before. A name that is bound to a record shows the \
changes made meanwhile. `let` gives an existing name a new value, also inside `for` and `if`.

Expressions are a small part of Python's: literals, fields by dots, + - * / // %, comparisons, in, and, \
or, not, `a if condition else b`, comprehensions, [*list, x], {{**mapping, 'key': x}}, f'…'. true, false and \
null are written so. There are no methods and no lambdas, only the functions below. `args` is the call's \
arguments, `today` and `now` are text. A dot always reads a field, and record['MA(5)'] one with another \
name; items(record.items) are its pairs. `order.id` is the field `id`, or else the key of the record. \
Keys of mappings are text. A field that is not there equals null and is left out of mappings; in \
arithmetic it is an error, so use default(x, 0). Numbers are exact; `/` and float() give one with a \
point: 6 / 3 is 2.0.

Functions:
{functions}

Answer with one plan for each tool that you are asked for, in `plans`:
- tool: its name
- why: one or two sentences on what the plan does and what it rests on
- steps: the plan
- examples: two or three calls of this tool that show what it does, with the outcome that you expect. Where \
calls of the tool were recorded, these are used in their place, and you can leave `examples` out.

An example is made in the world that you are shown. It has `tool`, `arguments` and `outcome` ("allowed" or \
"refused"), and may have:
- given: records as the example needs them, {{"order": {{"o-1": {{"status": "shipped"}}}}}}: fields of a \
record that is there, or a new record; {{"flags": {{"closed": true}}}} raises a flag
- before: calls that are made first; now: another time
- status, error: the status and the error code of the answer
- after: fields of records after the call, in the shape of `given`; null: there is no such record; the id \
"new": a record that the call adds
- reply: the fields of the reply that matter; of a list each element

A program makes the recorded calls, or your examples, with your plans. What comes out otherwise is sent back \
to you once, with the reason. In recorded calls, ids and times that the backend draws are compared by their \
form, and any error counts as equal to any other.
"""


def instructions() -> str:
    functions = (f"- {one.signature}: {one.help}" for one in FUNCTIONS.values())
    return INSTRUCTIONS.format(functions="\n".join(functions))
