"""The layout of a table: its separator and the row of its header.

The separator is the one with which the header has our column names. A header that can be read in two ways is
refused with both readings.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from pipelines.core.task_files.column_naming import DEFAULT_NAMING, ColumnNaming
from pipelines.core.tasks.task_columns import BY_NAME, REQUIRED, Column, column_of
from pipelines.core.text.authored import did_you_mean, quote_names
from pipelines.core.text.csv_text import COMMA, records_of
from pipelines.core.text.file_text import file_refusal
from pipelines.core.text.problems import Refused

SEPARATORS: Mapping[str, str] = {COMMA: "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
FIRST_LINE = "the first line names the columns; `user` is required"
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?(?:\r\n|\n|\r|$)', re.IGNORECASE)  # as Excel reads and writes it
_LOOKED_AT = 10  # records under a first line that is no header, for one that is
_LONGEST_SHOWN = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    text: str  # from the first row on
    separator: str
    header: tuple[str, ...]
    header_row: int  # 1 is the first of the sheet: blank lines above the header count

    @property
    def notes(self) -> tuple[str, ...]:
        is_usual = self.separator == COMMA
        return () if is_usual else (f"The columns are separated by {SEPARATORS[self.separator]}.",)


def layout_of(text: str, naming: ColumnNaming = DEFAULT_NAMING) -> Layout:
    """Refused with one problem where no line names a column of ours, or more than one reading does."""
    named = _SEPARATOR_LINE.match(text)
    if named is not None:
        text = text[named.end() :]  # a spreadsheet does not show this line: it is no row
        if named[1] not in SEPARATORS:
            hint = "use another, such as sep=; or sep=,"
            raise file_refusal(f"`sep={named[1]}` is not a supported separator", hint)
    read = _headers(text, [named[1]] if named is not None else list(SEPARATORS))
    if not read:
        raise file_refusal("the file is empty", FIRST_LINE)
    candidates = _matching_layouts(read, naming)
    if not candidates:
        raise _no_header(text, next(iter(read.values())).header)
    by_header = {layout.header: layout for layout in reversed(candidates)}
    if len(by_header) > 1:
        raise _ambiguous(candidates)
    return candidates[0]


def likely_layout(text: str) -> Layout | None:
    """Of a table that may name no column of ours: the reading with the most names, to show its author."""
    named = _SEPARATOR_LINE.match(text)
    text = text[named.end() :] if named is not None else text
    try:
        read = _headers(text, list(SEPARATORS))
    except Refused:
        return None
    return max(read.values(), key=lambda layout: len(layout.header), default=None)


def _headers(text: str, separators: Sequence[str]) -> dict[str, Layout]:
    """The header under each separator; none where the text is blank."""
    found: dict[str, Layout] = {}
    broken: list[Refused] = []
    for separator in separators:
        try:
            for row, record in enumerate(records_of(text, separator), start=1):
                header = tuple(name.strip() for name in record)
                if any(name.strip("".join(SEPARATORS)) for name in header):
                    found[separator] = Layout(text=text, separator=separator, header=header, header_row=row)
                    break
        except Refused as unreadable:  # a quote that does not fit this separator
            broken.append(unreadable)
    if not found and broken:
        raise broken[0]
    return found


def _matching_layouts(read: Mapping[str, Layout], naming: ColumnNaming) -> list[Layout]:
    """Those whose every name is ours; else those that have `user`; else those that have any of ours."""
    known = {s: [naming.column_of(name) for name in layout.header if name] for s, layout in read.items()}
    rules: tuple[Callable[[list[Column | None]], bool], ...] = (
        lambda columns: all(columns),
        lambda columns: REQUIRED in columns,
        lambda columns: any(columns),
    )
    for rule in rules:
        if fitting := [read[separator] for separator, columns in known.items() if rule(columns)]:
            return fitting
    return []


def _ambiguous(layouts: Sequence[Layout]) -> Refused:
    listed = [
        f"with {SEPARATORS[layout.separator]} as {quote_names(layout.header).replace(' or ', ', ')}"
        for layout in layouts
    ]
    message = f"the header can be read in two ways: {', and '.join(listed[:2])}"
    return file_refusal(message, "add a line `sep=,` or `sep=;` above the header")


def _no_header(text: str, header: tuple[str, ...]) -> Refused:
    """One message, however many names the first line seems to have."""
    first = next(line for line in text[:10_000].splitlines() if line.strip()).strip()
    start = first[:1]
    if start == "{" or (start == "[" and not first.startswith("[[")):
        kind = ".jsonl" if start == "{" else ".json"
        hint = f"name the file tasks{kind} ({_KINDS[kind]})"
        return file_refusal("this is JSON, not a table", hint)
    first_line = first if len(first) <= _LONGEST_SHOWN else first[: _LONGEST_SHOWN - 1] + "…"
    message = f"the first line (`{first_line}`) has no column of a task"
    return file_refusal(message, _no_header_hint(text, first, header))


_KINDS = {".jsonl": "one task a line", ".json": "an array of tasks"}


def _no_header_hint(text: str, first: str, header: tuple[str, ...]) -> str:
    if re.search("[“”„]", first):
        return 'CSV needs straight quotes ("), not typographic ones'
    if first.startswith("- ") or first == "rows:":
        return "name a YAML file of tasks .yaml"
    if (row := _later_header(text)) is not None:
        return f"the header seems to be in row {row}: delete the rows above it"
    near = [(name, did_you_mean(name, BY_NAME)) for name in header[:20] if len(name) < _LONGEST_SHOWN]
    hints = [f"`{name}`: {hint}" for name, hint in near if hint is not None]
    if hints:
        return "; ".join(hints[:3])
    return f"{FIRST_LINE}, such as `user,state,expected_outcome`"


def _later_header(text: str) -> int | None:
    for separator in SEPARATORS:
        try:
            for row, record in enumerate(islice(records_of(text, separator), _LOOKED_AT), start=1):
                if any(column_of(name) == REQUIRED for name in record):
                    return row
        except Refused:
            continue
    return None
