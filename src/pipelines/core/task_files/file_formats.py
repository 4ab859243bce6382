"""Files of tasks by format, which follows from the file name: a table, YAML, JSON, or JSON lines."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from pipelines.core.task_files.column_naming import DEFAULT_NAMING, ColumnNaming
from pipelines.core.task_files.task_rows import (
    MAX_ROWS,
    Entry,
    Upload,
    count_problems,
    read_entries,
    rows_from_json,
)
from pipelines.core.task_files.task_table import read_table
from pipelines.core.text.file_text import decode, file_refusal
from pipelines.core.text.json_rows import JsonRows, split_rows
from pipelines.core.text.json_text import InvalidJson, Json, loads
from pipelines.core.text.notes import Notes
from pipelines.core.text.problems import Problem
from pipelines.core.text.uploads import refuse_unknown
from pipelines.core.text.yaml_text import read_yaml

Format: TypeAlias = Literal["table", "yaml", "json", "jsonl"]
TABLE: Format = "table"
#: How a file's name ends; any other is a table's.
FORMATS: dict[str, Format] = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
LARGEST_YAML = (
    2 * 1024 * 1024
)  # bytes: as much takes half a minute; CSV and JSONL take the whole of an upload
_FIRST = 'begin with a task, such as {"user": "Refund order 4521."}'


def format_of(name: str) -> Format:
    dot = name.rfind(".")
    return FORMATS.get(name[dot:].lower(), "table") if dot >= 0 else "table"


def read_file(data: bytes, format: Format, naming: ColumnNaming = DEFAULT_NAMING) -> Upload:
    """Rows by axis name, with every problem that does not keep the file from being told apart into rows."""
    file = decode(data)
    if format == "table":
        return read_table(file, naming)
    if not file.text.strip():
        raise file_refusal("the file is empty", _FIRST)
    reader = {"yaml": _read_yaml, "json": _read_json, "jsonl": _read_lines}[format]
    upload = reader(file.text, naming)
    for note in file.notes:
        upload.notes.say(note)
    return upload


def _read_yaml(text: str, naming: ColumnNaming) -> Upload:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > LARGEST_YAML:
        message = f"the YAML file has {size / 2**20:.1f} MiB; at most {LARGEST_YAML >> 20} MiB are allowed"
        raise file_refusal(message, "send it as CSV, JSON or JSONL, which may be larger")
    read = read_yaml(text, what="task", most_bytes=LARGEST_YAML)
    rows, path = _task_list(read.value, "a YAML list of tasks", "begin each task with `- user: `")
    upload = rows_from_json(rows, path=path, naming=naming)
    return Upload(
        rows=upload.rows, problems=upload.problems, notes=upload.notes, is_table=False, placed=read.placed
    )


def _read_json(text: str, naming: ColumnNaming) -> Upload:
    split = split_rows(text.encode("utf-8", "surrogatepass"), most=MAX_ROWS)
    if split is not None:
        _, path = _task_list(split.rest, "", "")
        return rows_from_json(split.rows, path=path, naming=naming)
    try:
        value = loads(text)
    except InvalidJson as error:
        hint = None
        if text.lstrip().startswith("{") and "\n" in text.strip() and _is_json(next(_lines(text.strip()))):
            hint = "if each line is a task, name the file .jsonl"
        raise file_refusal(error.predicate, hint) from None
    rows, path = _task_list(value, "a JSON array of tasks", 'put the tasks into an array: [{"user": "…"}]')
    return rows_from_json(rows, path=path, naming=naming)


def _task_list(value: Json, what: str, hint: str) -> tuple[Json, str]:
    """The rows and where they stand: the whole, or what an object such as an export has as `rows`."""
    if isinstance(value, list):
        return value, ""
    if not isinstance(value, dict) or not isinstance(value.get("rows"), list):
        raise file_refusal(f"the file must be {what}, or an object that has one under `rows`", hint)
    refuse_unknown(value, ("rows", "name"), "the file")
    return value["rows"], "/rows"


def _read_lines(text: str, naming: ColumnNaming) -> Upload:
    is_array = text.lstrip().startswith("[")
    if is_array and (next(_lines(text.strip())) == "[" or _is_json(text)):
        raise file_refusal("this is one JSON array, not a task on each line", "name the file .json")
    problems: list[Problem] = []
    notes = Notes("line")
    rows = read_entries(_entries(text, problems), problems, notes, naming)
    return Upload(rows=rows, problems=problems, notes=notes, is_table=False)


def _entries(text: str, problems: list[Problem]) -> Iterator[Entry]:
    """As many lines that are JSON as are taken; the others are counted."""
    count = broken = 0
    for number, line in enumerate(_lines(text), start=1):
        try:
            value = loads(line) if line else None
        except InvalidJson as error:
            broken += 1
            problems.append(Problem(path=f"line {number}", row=number, message=error.predicate))
            continue
        if line:
            count += 1
            if count <= MAX_ROWS:
                yield Entry(number, f"line {number}: ", value)
    if not count and broken > 1:
        raise file_refusal("no line of the file is JSON", _FIRST)
    if count or not broken:
        problems.extend(count_problems(count, "file"))


def _lines(text: str) -> Iterator[str]:
    """Not splitlines(): a line separator may stand inside a JSON string."""
    at = 0
    while at <= len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text[at:end].strip()
        at = end + 1


def _is_json(text: str) -> bool:
    if split_rows(text.encode("utf-8", "surrogatepass"), most=0) is not None:
        return True
    try:
        loads(text)
    except InvalidJson:
        return False
    return True


def read_source(
    source: bytes | Json | JsonRows, format: Format, naming: ColumnNaming = DEFAULT_NAMING
) -> Upload:
    """A file's bytes, or rows that came as JSON."""
    if isinstance(source, bytes):
        return read_file(source, format, naming)
    return rows_from_json(source, naming=naming)
