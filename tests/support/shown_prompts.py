"""Pages that show what a model is sent, word for word.

`WRITE_EXAMPLES=yes` with the test of a page writes its blocks anew.
"""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def blocks(page: Path) -> list[str]:
    """What stands between fences of text or JSON, in order."""
    return [one["text"] for one in _found(page.read_text())]


def written(data: Any) -> str:
    """JSON as a page shows it."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def check_page(path: Path, whole: Sequence[str]) -> None:
    """The first blocks of the page are these."""
    page = path.read_text()
    if os.environ.get("WRITE_EXAMPLES"):
        for block, text in reversed([*zip(_found(page), whole, strict=False)]):
            page = page[: block.start("text")] + text + page[block.end("text") :]
        path.write_text(page)
    assert blocks(path)[: len(whole)] == [*whole]


def _found(page: str) -> list[re.Match[str]]:
    return [*re.finditer(r"^(?P<fence>`{3,4})(?:text|json)\n(?P<text>.*?)^(?P=fence)$", page, re.M | re.S)]
