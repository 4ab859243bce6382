"""Which fields of a read plan's reply are invented: each of them is named in the notes of every reply."""

import re
from collections.abc import Iterator

from pipelines.core.json_text import Json

_INVENTED = re.compile(r"\binvented\(\{.*?\}, '(\w+)', ")


def invented_in(body: Json) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_found(body)))


def _found(body: Json) -> Iterator[str]:
    if isinstance(body, str):
        yield from _INVENTED.findall(body)
    elif isinstance(body, (list, dict)):
        for part in body if isinstance(body, list) else body.values():
            yield from _found(part)
