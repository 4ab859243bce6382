"""Actor ids: which sub-agent made a call, as a path of labels (`supervisor/refunds`)."""

import re

_ACTOR_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}(?:/[A-Za-z0-9_.-]{1,64}){0,7}")

ACTOR_ID_RULE = "1 to 8 labels of letters, digits, `_`, `.` or `-` (1 to 64 each), joined by `/`"


def is_actor_id(text: str) -> bool:
    """Whether a label is well formed; whether it is declared is another question.

    >>> is_actor_id("supervisor/refunds")
    True
    >>> is_actor_id("supervisor//refunds")
    False
    """
    return _ACTOR_ID.fullmatch(text) is not None
