"""Tables of an answer as sentences: a cell says nothing without its column and its row.

`| Class | Free |` over `| CL-2 | 7 |` becomes `CL-2 | Free: 7`.
"""

import re
from collections.abc import Iterator, Sequence

_ROW = re.compile(r"\s*\|(?P<cells>.*)\|\s*")
_RULE = re.compile(r"[\s:|-]+")
MOST_COLUMNS = 40
LONGEST_NAME = 60  # of a column: it is said again in each row, so a text would become its square
MOST_WORDS = 3  # of a column's name: a longer one may be a statement, and is read as it stands
MOST_ADDED = 50_000  # characters that names of columns add to a text; rows behind that stay as they are


def told_in_words(text: str) -> str:
    """The text with each row of its tables as a sentence; whatever is no table stays as it is."""
    if "|" not in text:
        return text
    return "\n".join(_lines(text.split("\n")))


def _lines(lines: Sequence[str]) -> Iterator[str]:
    header: list[str] | None = None  # of the table that the line before belongs to
    left = MOST_ADDED
    for at, line in enumerate(lines):
        cells = _cells(line)
        if cells is None:
            header = None
            yield line
        elif header is not None:
            if _RULE.fullmatch(line) is None:
                said = _said(header, cells) if left > 0 else line
                left -= max(0, len(said) - len(line))
                yield said
        elif at + 1 < len(lines) and _is_header(cells, lines[at + 1]):
            header = cells
        else:
            yield line


def _is_header(cells: list[str], below: str) -> bool:
    is_named = all(len(name) <= LONGEST_NAME and len(name.split()) <= MOST_WORDS for name in cells)
    return is_named and "-" in below and _RULE.fullmatch(below) is not None


def _cells(line: str) -> list[str] | None:
    """None where it is no row, or one of more columns than anybody reads: no cell is left out unread."""
    row = _ROW.fullmatch(line)
    if row is None or row["cells"].count("|") >= MOST_COLUMNS:
        return None
    return [cell.strip() for cell in row["cells"].split("|")]


def _said(header: list[str], cells: list[str]) -> str:
    if not header[0] and len(header) > 2 and all(header[1:]):  # an empty corner: each column is a thing
        named = zip(header[1:], cells[1:], strict=False)
        return "\n".join(f"{name}, {cells[0]}: {cell}" for name, cell in named if cell)
    names = [*header, *[""] * len(cells)]
    named = zip(names[1:], cells[1:], strict=False)
    told = [cells[0], *(f"{name}: {cell}" if name else cell for name, cell in named)]
    return " | ".join(part for part in told if part)  # in one clause: a row speaks of one thing
