"""The instructions to a model that translates sentences into typed rules: every form, what expressions may
name, and every function of the plan language."""

from collections.abc import Mapping

from pipelines.core.simulation.rules.forms import FORMS
from pipelines.core.simulation.syntax.functions import FUNCTIONS

#: Changes with every change of a text below: answers are kept under it.
VERSION = "rules/2"

#: What each form says; which keys it takes stands in `FORMS`.
FORM_HELP: Mapping[str, str] = {
    "require": "`expression` holds, or the call is refused with `status`, `error` (a word) and `message`; "
    "or, with `unchanged`: true, returns the record as it is; or succeeds with `reply`. With "
    "`after_changes`: true it is checked after the call's changes, which are undone where it fails.",
    "limit_calls": "at most `count` successful calls in a run, or for each record of the type `per`.",
    "after": "only after a call of the tool `target` succeeded; for the same record of the type `per`.",
    "running_total": "the sum of `expression` over the successful calls of a run, or for each record of the "
    "type `per`, this call included, is at most `limit`.",
    "not_found": "what an unknown id of the type `target` is answered with.",
    "keep": "of a list that is answered, only elements for which `expression` holds (`each` is one).",
    "sort": "the order of a list: by the field `target` (-created_at: latest first), or those first for "
    "which `expression` holds, or, with `latest`: true, the last that were made first.",
    "take": "at most `count` elements of a list; with `pages`: true, pages of `count`.",
    "set": "the field `target` (order.status) becomes the value of `expression`, where `when` holds.",
    "unset": "the field `target` is removed, where `when` holds.",
    "flag": "the flag `target` is raised (`on`: true) or lowered, where `when` holds.",
    "add": "a record of the type `target` is added; `fields` maps its fields to expressions.",
    "remove": "the record of the type `target` that the call is about is removed, where `when` holds.",
    "put": "the field `target` of the reply becomes the value of `expression`, where `when` holds.",
    "without": "fields `names` that the reply leaves out.",
    "only": "fields `names` that alone the reply shows.",
    "mask": "of the field `target` of the reply only the last `count` characters are shown.",
}

INSTRUCTIONS = """\
You translate sentences about a software backend into rules that a program enforces. You get one JSON \
object: the tools with their arguments, the types of the world with their fields and some values, the \
whole text, and the sentences to translate, by number. Answer, for each number, with the rules that say \
what the sentence says.

A sentence is translated whole or not at all. Where it has no measure ("suspicious", "too old"), speaks \
of things that no argument and no field holds, or addresses the agent rather than the backend, give no \
rules and say in `left_out` why. Never add what the sentence does not say. Keep an error code in the \
spelling of the sentence.

Forms of rules. Each has `tools`, the names of the tools it is about:
{forms}

Expressions are a small part of Python's: comparisons, and, or, not, in, + - * /, `x if condition else \
y`, comprehensions and the functions below. Texts have single quotes; true, false and null are written \
so. `args.x` is an argument. A type's name, such as `order`, is the record of that type which the call \
is about; record('class') is the same for a type whose name is no name in Python. `each` is an element \
of the list in keep and sort, `reply` the reply in put. `today` is the run's date and `now` its time, as \
texts. calls('refund_order') lists the arguments of the successful calls of a tool before this one. A \
field that is missing equals null. Messages say nothing of the rule beyond what stands in the way.

Functions:
{functions}
"""


def instructions() -> str:
    forms = (f"- {name} ({_takes(name)}): {says}" for name, says in FORM_HELP.items())
    functions = (f"- {one.signature}: {one.help}" for one in FUNCTIONS.values())
    return INSTRUCTIONS.format(forms="\n".join(forms), functions="\n".join(functions))


def _takes(form: str) -> str:
    needed, optional = FORMS[form]
    return ", ".join((*needed, *(f"{key}?" for key in optional)))
