"""The instructions to a model that translates sentences into typed rules: every form, what expressions may
name, and every function of the plan language."""

from collections.abc import Mapping

from pipelines.core.simulation.rules.forms import FORMS
from pipelines.core.simulation.syntax.functions import FUNCTIONS

#: Changes with every change of a text below: answers are kept under it.
VERSION = "rules/3"

#: What each form says; which keys it takes stands in `FORMS`.
FORM_HELP: Mapping[str, str] = {
    "require": "`expression` holds, or the call is refused with `status`, `error` (one word) and `message`; "
    "or, with `unchanged`: true, returns the record as it is; or succeeds with `reply`. With "
    "`after_changes`: true it is checked after the call's changes, which are undone where it fails. With "
    "`first`: true it is checked ahead of all other requirements: a call that has nothing left to do "
    "succeeds.",
    "limit_calls": "at most `count` successful calls in a run, or for each record of the type `per`.",
    "after": "only after a call of the tool `target` succeeded; for the same record of the type `per`.",
    "running_total": "the sum of `expression` over the successful calls of a run, or for each record of the "
    "type `per`, this call included, is at most `limit`.",
    "not_found": "what an unknown id of the type `target` is answered with.",
    "keep": "of a list that is answered, only elements for which `expression` holds (`each` is one).",
    "sort": "the order of a list: by the fields `target` (['-priority', 'created_at']: highest first, then "
    "the oldest), those first for which `expression` holds, or both; or, with `latest`: true, the last that "
    "were made first.",
    "take": "at most `count` elements of a list; with `pages`: true, pages of `count`.",
    "set": "the field `target` (order.status) becomes the value of `expression`, where `when` holds. With "
    "`where` this is done for every record of the type for which it holds; `each` is one of them: target "
    "agent.load, expression each.load - 1, where same_id(id_of(each), ticket.agent_id).",
    "unset": "the field `target` is removed, where `when` holds; of every record for which `where` holds.",
    "flag": "the flag `target` is raised (`on`: true) or lowered, where `when` holds.",
    "add": "a record of the type `target` is added; `fields` maps its fields to expressions.",
    "remove": "the record of the type `target` that the call is about is removed, where `when` holds; or "
    "every record of the type for which `where` holds.",
    "put": "the field `target` of the reply becomes the value of `expression`, where `when` holds.",
    "without": "fields `names` that the reply leaves out.",
    "only": "fields `names` that alone the reply shows.",
    "drop": "what the tool itself changes of the field or the type `target` (order.status, order) is not "
    "done.",
    "amend": "another rule, by its name or its whole sentence in `target`: a call that it refuses goes "
    "through where `when` holds, or is answered with `status`, `error`, `message`, `unchanged` or `reply`.",
    "mask": "of the field `target` of the reply only the last `count` characters are shown.",
}

INSTRUCTIONS = """\
You translate sentences about a software backend into rules that a program enforces. You get one JSON \
object:
- tools: each with its description, its arguments, the `required` ones, the type of record that it is \
`about`, and, in `does`, what it does at present, step by step. `sets`, `adds` and `removes` are what it \
changes already. A tool with `guess` is only assumed to do that.
- world: the types with their number of records, their fields with some values, `links` (fields that hold \
the id of another record), and some records by id
- flags: flags that are known; now: the run's time
- text: the whole text; sentences: those to translate, by number

Answer, for each number, with the rules that say what the sentence says.

A sentence is translated whole or not at all. Where it has no measure ("suspicious", "too old"), speaks \
of things that no argument and no field holds, or addresses the agent rather than the backend, give no \
rules and say in `left_out` why. Never add what the sentence does not say, and never repeat what the tool \
does already. Keep an error code in the spelling of the sentence.

Forms of rules. Each has `tools`, the names of the tools it is about:
{forms}

The order of a call: guards (require, limit_calls, after, running_total, not_found) see the world as the \
call finds it. `when` does, too. Then the tool makes its own change. Then set, unset, add, remove, flag and \
put are done: their `expression` sees the world as the tool's own change leaves it, and a field that the \
tool sets already gets the rule's value. With `before`: true the expression and `where` of set, unset and \
remove see the world as the call finds it: ticket.agent_id is then the old agent. A call that is refused \
changes nothing.

Expressions are a small part of Python's: comparisons, and, or, not, in, + - * /, `x if condition else \
y`, comprehensions and the functions below. Texts have single quotes; true, false and null are written \
so. A field that is missing equals null.
- `args.x` is an argument. One that is not given is null, and a requirement over it holds.
- A type's name, such as `order`, is the record of that type which the call is about, or to which that \
record links; record('class') is the same for a type whose name is no name in Python.
- entity('user', args.requester_id) is any other record by its id, entities('order') are all records of a \
type: `len([one for one in entities('order') if same_id(one.user_id, args.user_id)]) < 3`. id_of(one) is \
the id of a record. Ids are compared with same_id.
- `each` is an element of the list in keep and sort, and the record that is changed where there is `where`. \
`reply` is the reply in put.
- `today` is the run's date and `now` its date and time, as ISO texts. Dates are compared with is_before and \
days_between: `days_between(order.created_at, now) <= 30`.
- calls('refund_order') lists the arguments of the successful calls of a tool before this one.
Messages say nothing of the rule beyond what stands in the way.

Functions:
{functions}

With the rules of a sentence give two or three `examples`: calls that show what the sentence means, of \
which at least one comes out otherwise than without it. They are made in this world, and the rules are \
rejected if one comes out differently from what you expect. Each has `tool`, `arguments` and `outcome` \
("allowed" or "refused"), and may have:
- given: records as the example needs them, {{"order": {{"o-1": {{"status": "shipped"}}}}}}: fields of a \
record that is there, or a new record; {{"flags": {{"closed": true}}}} raises a flag
- before: calls that are made first; now: another time
- status, error: the status and the error code of the answer
- after: fields of records after the call, in the shape of `given`; null: there is no such record; the id \
"new": a record that the call adds
- reply: the fields of the reply that matter; of a list each element
"""


def instructions() -> str:
    forms = (f"- {name} ({_takes(name)}): {says}" for name, says in FORM_HELP.items())
    functions = (f"- {one.signature}: {one.help}" for one in FUNCTIONS.values())
    return INSTRUCTIONS.format(forms="\n".join(forms), functions="\n".join(functions))


def _takes(form: str) -> str:
    needed, optional = FORMS[form]
    return ", ".join((*needed, *(f"{key}?" for key in optional)))
