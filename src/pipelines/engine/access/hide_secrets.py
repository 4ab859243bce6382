"""What code sends out of its sandbox, looked through for the values of its agent's secrets.

A mebibyte that is made to be hard takes half a second of the interpreter, eight take two. So only what is
small is looked through here, the rest by a helper process; what that takes too long over is not let out.
"""

from pipelines.core.code.redaction import Redaction
from pipelines.core.text.json_text import JsonObject
from pipelines.processes.aside import aside
from pipelines.processes.pool import HelperProcesses, Job, TookTooMuch
from pipelines.wire.errors import BodyTooLarge
from pipelines.wire.names import MAX_BODY_BYTES

SMALL_BYTES = 16 * 1024  # looked through on the event loop
MIDDLE_BYTES = 128 * 1024  # beside it
HIDING_S = 20.0  # of processor time
_MOST_LONGER = 16  # times, where every number and key of a body is a secret


async def without_secrets(raw: bytes, redaction: Redaction, *, helpers: HelperProcesses, owner: int) -> bytes:
    """The same bytes where there is no secret in them. Raises BodyTooLarge where that cannot be found out."""
    if not redaction:
        return raw
    if len(raw) <= SMALL_BYTES:
        return redaction.json_bytes(raw)
    if len(raw) <= MIDDLE_BYTES:
        return await aside(owner, redaction.json_bytes, raw)
    is_json = len(raw) <= MAX_BODY_BYTES  # else only its text is looked at, which costs less
    arguments: JsonObject = {"secrets": dict(redaction.secrets), "is_json": is_json}
    try:
        job = Job("hide_secrets", arguments, HIDING_S, _MOST_LONGER * len(raw))
        (hidden,) = await helpers.run(job, raw, owner=owner)
    except TookTooMuch as error:
        message = f"The body cannot be searched for secrets: {error}. Send it in smaller parts."
        raise BodyTooLarge(message) from None
    return hidden
