"""Tables of an answer as sentences: a cell says nothing without its column and its row.

`| Class | Free |` over `| CL-2 | 7 |` becomes `CL-2 | Free: 7`. Of a table with two columns the first names
what the second gives: `Still owed: 114.50`.
"""

import re
from collections.abc import Iterator, Sequence

_ROW = re.compile(r"\s*\|(?P<cells>.*)\|\s*")
_RULE = re.compile(r"[\s:|-]+")
MOST_COLUMNS = 40


def told_in_words(text: str) -> str:
    """The text with each row of its tables as a sentence; whatever is no table stays as it is."""
    if "|" not in text:
        return text
    return "\n".join(_lines(text.split("\n")))


def _lines(lines: Sequence[str]) -> Iterator[str]:
    header: list[str] | None = None  # of the table that the line before belongs to
    for at, line in enumerate(lines):
        cells = _cells(line)
        if cells is None:
            header = None
            yield line
        elif header is not None:
            if _RULE.fullmatch(line) is None:
                yield _said(header, cells)
        elif at + 1 < len(lines) and "-" in lines[at + 1] and _RULE.fullmatch(lines[at + 1]) is not None:
            header = cells
        else:
            yield line


def _cells(line: str) -> list[str] | None:
    row = _ROW.fullmatch(line)
    return [cell.strip() for cell in row["cells"].split("|")][:MOST_COLUMNS] if row is not None else None


def _said(header: list[str], cells: list[str]) -> str:
    if len(cells) == 2:
        return f"{cells[0]}: {cells[1]}"
    names = [*header, *[""] * len(cells)]
    named = zip(names[1:], cells[1:], strict=False)
    told = [cells[0], *(f"{name}: {cell}" if name else cell for name, cell in named)]
    return " | ".join(part for part in told if part)  # in one clause: a row speaks of one thing
