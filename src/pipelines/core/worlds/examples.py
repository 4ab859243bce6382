"""Values that schemas and descriptions give as examples."""

import re

from pipelines.core.json_text import Json
from pipelines.core.worlds.outline import FieldOutline

LONGEST = 64
_QUOTED = re.compile(
    r"(?:such as|e\.?\s?g\.?,?|for example|example:?)\s*:?\s*[`'\"“‘]([^`'\"”’]{1,40})[`'\"”’]"
)
_EXAMPLE = re.compile(
    r"(?:such as|e\.?\s?g\.?,?|for example|for instance|example:?|like|format:?)[\s:,]*[`'\"“‘(]*"
    r"(#?[A-Za-z0-9][A-Za-z0-9_#./-]{0,40})"
)


def example_of(field: FieldOutline) -> str | None:
    """A value that a schema or a description gives as an example."""
    stated: Json = field.said("examples")
    listed = stated if isinstance(stated, list) else [field.said("example")]
    for one in listed:
        if isinstance(one, str | int) and not isinstance(one, bool):
            return str(one)[:LONGEST]
    for text in (field.description, field.said("description"), field.said("told")):
        if not isinstance(text, str):
            continue
        quoted = _QUOTED.search(text[:500])
        found = quoted or _EXAMPLE.search(text[:500])
        if found is not None:
            return found[1] if quoted else found[1].rstrip(".,-)")
    return None
