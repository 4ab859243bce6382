"""Text that strangers wrote, made fit to stand in HTML and in SVG alike."""

import re
from html import escape

from pipelines.core.text.json_text import Json, dumps

# What XML refuses (control characters, half of a surrogate pair, the two non-characters), and the C1 controls
# that HTML reads as something else. Replaced, not dropped: a reader sees that something odd stood there.
_UNFIT = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape_markup(text: str) -> str:
    """Fit for the content of an element and for an attribute in either kind of quotes."""
    return escape(_UNFIT.sub("\ufffd", text), quote=True)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def value_text(value: Json, most: int) -> str:
    """A JSON value in one line. Of a long one the beginning, and how much there is more."""
    text = dumps(value).decode()
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} characters more)"
