"""Paths into a ledger: entity type, id, field and on; as an author writes them and as a person reads them."""

import re

from pipelines.core.matchers.matching import Path
from pipelines.core.text.json_text import dumps

FLAGS = "flags"  # as an entity type: the ledger's flags
NEW = "<new>"  # in place of an id: one that only the run will know
ANY = "*"  # in `allow`: any part
_PLAIN = re.compile(r"[^\s./\[\]\"]+")


def parse_path(text: str) -> Path | None:
    """`order.4521.status`, or `/order/4521/status` for parts with dots of their own; None if one is empty."""
    if text.startswith("/"):
        parts = tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))
    else:
        parts = tuple(text.split("."))
    return parts if all(parts) else None


def path_text(path: Path) -> str:
    """`order.4521.status`; a part with a dot in it stands in brackets: `user["a.b"].tier`."""
    text = ""
    for part in path:
        if not _PLAIN.fullmatch(part):
            text += f"[{dumps(part).decode()}]"
        else:
            text += f".{part}" if text else part
    return text
