"""A secret that somebody typed into a form that is shown again: sealed, and sent back with the form.

The server keeps nothing and the page never has the value. The sealed text opens only for the sign-in that it
was made for, and only for an hour.
"""

import base64
import binascii
from typing import NamedTuple

from pipelines.core.text.json_text import dumps, loads_own
from pipelines.engine.platform import Platform, later
from pipelines.storage.database.secret_box import UnreadableSecret

LIFE_S = 3600.0
LONGEST = 16_384  # characters of what comes back from a form


class KeptSecret(NamedTuple):
    sealed: str  # what the form carries
    until: str


def keep_secret(platform: Platform, owner: str, value: str) -> KeptSecret:
    """`owner` names the org and the sign-in, which the sealed text is bound to."""
    until = later(platform.now(), LIFE_S)
    sealed = platform.secrets.seal(dumps({"value": value, "until": until}).decode(), row=_row(owner))
    return KeptSecret(base64.urlsafe_b64encode(sealed).decode(), until)


def kept_secret(platform: Platform, owner: str, sealed: str) -> str | None:
    """The value; None if it is another's, too old, or was changed."""
    if not sealed or len(sealed) > LONGEST:
        return None
    try:
        text = platform.secrets.open(base64.urlsafe_b64decode(sealed.encode()), row=_row(owner))
    except (UnreadableSecret, binascii.Error, ValueError):
        return None
    kept = loads_own(text)
    assert isinstance(kept, dict)
    return str(kept["value"]) if str(kept["until"]) >= platform.now() else None


def _row(owner: str) -> str:
    return f"{owner}|form"
