"""Errors and problems: what every operation may answer with."""

from pipelines.core.text.problems import Problem
from pipelines.server.document.parts import (
    OBJECT,
    TEXT,
    YES_NO,
    Schemas,
    either,
    listed,
    record,
    ref,
    told,
)

_ERROR = record(
    "What went wrong.",
    {"code": told(TEXT, "one of docs/reference/errors.md"), "message": told(TEXT, "a sentence for a person")},
    {
        "details": told(either(listed(ref("Problem")), OBJECT), "every problem, or what the code needs"),
        "retryable": told(YES_NO, "true: the same request may succeed later"),
    },
)
_RETRYABLE = told(YES_NO, "true: the same request may succeed later; Retry-After says when")
SCHEMAS: Schemas = {
    "ErrorBody": _ERROR,
    "ErrorAnswer": record("An error.", {"error": ref("ErrorBody")}, {"retryable": _RETRYABLE}),
    "ErrorAnswerWithDetail": record(
        "An error of /api/v1, with its message where many clients look for it.",
        {"error": ref("ErrorBody"), "detail": told(TEXT, "the message again")},
        {"retryable": _RETRYABLE},
    ),
}
RECORDS = (Problem,)
