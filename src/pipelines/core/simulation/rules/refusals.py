"""The error reply of a rule as a plan has it: status, error and message, with defaults for what the rule does
not set.
"""

from http import HTTPStatus

from pipelines.core.english.words import tokens
from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.make import Draft
from pipelines.core.simulation.rules.conditions import Nature, arguments_in, required_arguments
from pipelines.core.simulation.rules.rule import Refusal
from pipelines.core.simulation.rules.vocabulary import Vocabulary

_STATUS = {Nature.ARGUMENT: 422, Nature.CALLER: 403, Nature.STATE: 409}


def failure(answer: Refusal, need: Expr, nature: Nature, message: n.Format) -> Draft:
    status = answer.status or _STATUS[nature]
    error = answer.error or _argument_error(answer, need, nature) or word_of(status)
    return _failure(status, error, answer, message)


def missing(answer: Refusal, kind: str, id: Draft, vocabulary: Vocabulary) -> Draft:
    """Of an unknown id."""
    noun = vocabulary.kinds[kind].nouns[0] if kind in vocabulary.kinds else tokens(kind)
    status = answer.status or 404
    error = answer.error or ("_".join((*noun, "not", "found")) if status == 404 else word_of(status))
    text = m.message(f"there is no {' '.join(noun)} ", id if isinstance(id, Expr) else "with this id")
    return _failure(status, error, answer, text)


def _failure(status: int, error: str, answer: Refusal, message: n.Format) -> Draft:
    """An error that is not in snake_case is written as the whole body of the reply."""
    parts = message.parts if answer.message is None else (answer.message,)
    if error.isascii() and error.isidentifier() and error[0].isalpha() and error == error.lower():
        return {"status": status, "error": error, "message": m.Message(parts)}
    return {"status": status, "body": {"error": {"code": n.Constant(error), "message": n.Format(parts)}}}


def word_of(status: int) -> str:
    """`too_many_requests`, of 429."""
    known = status in HTTPStatus.__members__.values()
    return "_".join(tokens(HTTPStatus(status).phrase)) if known else "refused"


def _argument_error(answer: Refusal, need: Expr, nature: Nature) -> str | None:
    if nature is not Nature.ARGUMENT or answer.status not in (None, 400, 422):
        return None
    required = [*required_arguments(need)]
    name = "_".join(tokens(required[0] if required else min(arguments_in(need))))
    return f"{name}_required" if required else f"invalid_{name}"
