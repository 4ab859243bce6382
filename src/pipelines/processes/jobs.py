"""What a helper process can be asked for. Every job gives its result in parts, as bytes.

Imports happen inside: a process that only reads JSON need not load what reads behaviour text.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from typing import Any

from pipelines.core.text.json_text import JsonObject, count_values, dumps, loads, loads_and_text, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.processes.authoring_jobs import AUTHORING_JOBS
from pipelines.processes.world_jobs import WORLD_JOBS

MOST_WARNING_S = 5.0  # of reading behaviour texts for the warnings of one upload


def read_json(data: bytes, *, most_values: int) -> Iterator[bytes]:
    """A body, read strictly and written again: reading that is quick, as it has not too many values."""
    value, text = loads_and_text(data)
    if count_values(value, most_values) > most_values:
        message = f"holds more than {most_values:,} values"
        raise Refused([Problem(path="", message=message, hint="send it in smaller parts")], "the body")
    yield text


def upload_head(data: bytes, *, taken: list[str]) -> Iterator[bytes]:
    """Of a body with rows: everything but the rows, which are read once it is known against what."""
    from pipelines.core.text.json_rows import split_rows
    from pipelines.core.text.uploads import head_of

    split = split_rows(data, most=0)
    body = split.rest if split is not None else loads(data)
    yield dumps(head_of(body, tuple(taken)))


def upload_rows(
    data: bytes,
    *,
    format: str | None,
    definition: str | None,
    naming: JsonObject | None = None,
    coding: JsonObject | None = None,
) -> Iterator[bytes]:
    """The seeds of an upload, checked whole; then, last, the notes and warnings.

    Without a format it is a body with `rows`, which was read strictly before.
    """
    from pipelines.core.agents.agent_definition import AgentDefinition
    from pipelines.core.coding.coding_tasks import ANY_SCENARIO, CodingContext
    from pipelines.core.task_files.column_naming import DEFAULT_NAMING, ColumnNaming
    from pipelines.core.task_files.read_tasks import MAX_ROWS, read_tasks
    from pipelines.core.task_files.upload_warnings import upload_warnings
    from pipelines.core.tasks.seed_text import EncodedSeeds
    from pipelines.core.text.json_rows import split_rows

    stored = loads_own(definition) if definition is not None else None
    agent = AgentDefinition.from_stored(stored) if isinstance(stored, dict) else None
    source: Any = data
    if format is None:
        split = split_rows(data, most=MAX_ROWS, is_checked=True)
        source = split.rows if split is not None else loads_own(data)["rows"]  # type: ignore[index, call-overload]
    tools = agent.tools if agent is not None else None
    ledger_schema = agent.ledger_schema if agent is not None else None
    format_read: Any = format or "table"
    read = read_tasks(
        source,
        format=format_read,
        tools=tools,
        ledger_schema=ledger_schema,
        keep=EncodedSeeds,
        naming=ColumnNaming.from_json(naming) if naming is not None else DEFAULT_NAMING,
        coding=CodingContext.from_json(coding) if coding is not None else ANY_SCENARIO,
    )
    del source, data
    until = time.process_time() + MOST_WARNING_S
    warnings = upload_warnings(
        read.seeds,
        tools=tools,
        ledger_schema=ledger_schema,
        may_read=lambda: time.process_time() < until,
        rows=read.rows,
        rules=agent.rules if agent is not None else (),
    )
    assert isinstance(read.seeds, EncodedSeeds)
    yield from read.seeds.handed_over()
    yield dumps({"notes": read.notes, "warnings": warnings.warnings, "sentences": warnings.sentences})


def recorded_runs(data: bytes) -> Iterator[bytes]:
    """The runs of an import, a part each; then, last, everything else of it, with what is wrong."""
    from pipelines.core.recordings.import_request import import_parts

    yield from import_parts(data)


def preview_rows(
    data: bytes, *, format: str, definition: str | None, naming: JsonObject, coding: JsonObject
) -> Iterator[bytes]:
    """What a page shows of a file before anything is stored: see core.upload_preview."""
    from pipelines.core.agents.agent_definition import AgentDefinition
    from pipelines.core.coding.coding_tasks import CodingContext
    from pipelines.core.task_files.column_naming import ColumnNaming
    from pipelines.core.task_files.upload_preview import preview_upload
    from pipelines.core.tasks.seed_text import EncodedSeeds

    stored = loads_own(definition) if definition is not None else None
    agent = AgentDefinition.from_stored(stored) if isinstance(stored, dict) else None
    until = time.process_time() + MOST_WARNING_S
    format_read: Any = format
    yield dumps(
        preview_upload(
            data,
            format=format_read,
            naming=ColumnNaming.from_json(naming),
            tools=agent.tools if agent is not None else None,
            ledger_schema=agent.ledger_schema if agent is not None else None,
            rules=agent.rules if agent is not None else (),
            may_read=lambda: time.process_time() < until,
            keep=EncodedSeeds,
            coding=CodingContext.from_json(coding),
        )
    )


def canonical_hash(data: bytes) -> Iterator[bytes]:
    """Of a stored text of JSON, whatever the order of its keys."""
    from pipelines.core.tasks import task_key

    yield task_key.canonical_hash(loads_own(data)).encode()


def agent_reply(data: bytes, *, content_type: str | None) -> Iterator[bytes]:
    """What an agent answered, read leniently and written in its one normal form."""
    from pipelines.core.agents.agent_reply import parse_agent_reply
    from pipelines.core.agents.reply_text import encode_reply

    yield encode_reply(parse_agent_reply(data, content_type))


def entry_file(data: bytes, *, filename: str, function: str, place: str) -> Iterator[bytes]:
    """What is wrong with the entry file of uploaded code."""
    from pipelines.core.code.code_entry import entry_problems

    problems: list[JsonObject] = [
        problem.as_json() for problem in entry_problems(data, filename, function=function, place=place)
    ]
    yield dumps(problems)


def report_flags(data: bytes, *, matrix_id: str, wanted: list[list[str]]) -> Iterator[bytes]:
    """The cells of a matrix report that people have to see; `wanted` are scenario, variation and why."""
    from pipelines.core.evals.reviews.review import flags_of

    report: Any = loads_own(data)
    reasons = {(scenario_id, variation): why for scenario_id, variation, why in wanted}
    for flag in flags_of(report, matrix_id=matrix_id, wanted=reasons):
        yield dumps(flag.as_json())


def matrix_report(data: bytes) -> Iterator[bytes]:
    """The report of a matrix, from what is stored of it."""
    from io import BytesIO

    from pipelines.core.evals.matrix.report_input import report_of_lines

    yield from report_of_lines(BytesIO(data))


def heatmap(data: bytes, *, format: str) -> Iterator[bytes]:
    """A matrix drawn as a file."""
    from pipelines.core.evals.heatmap.draw import draw_heatmap

    yield from draw_heatmap(data, format)


def heatmap_page(data: bytes, *, first: int, show: str) -> Iterator[bytes]:
    """Some rows of a heatmap, as a page of the server shows them."""
    from pipelines.core.evals.heatmap.heatmap_page import heatmap_page

    yield heatmap_page(data, first=first, show=show)


def heatmap_cell(data: bytes, *, scenario_id: str, variation: str | None) -> Iterator[bytes]:
    """One cell of a matrix report."""
    from pipelines.core.evals.heatmap.heatmap_page import heatmap_cell

    yield heatmap_cell(data, scenario_id=scenario_id, variation=variation)


def compare_matrices(data: bytes) -> Iterator[bytes]:
    """What flipped between two matrices."""
    from pipelines.core.evals.heatmap.draw import compare_reports_text

    yield compare_reports_text(data)


def skill_spans(
    data: bytes, *, encoding: str, is_gzip: bool, may_be_list: bool, key: str, ips: bool, arrived_ns: int
) -> Iterator[bytes]:
    """What is kept of telemetry, masked, in parts; then, last, what became of it. Null: it is too large."""
    from pipelines.core.evals.telemetry.masking import Masking
    from pipelines.core.evals.telemetry.otlp import TooLargeInflated, inflate, spans_of
    from pipelines.core.evals.telemetry.stored_spans import stored_parts

    try:
        body = inflate(data) if is_gzip else data
    except TooLargeInflated:
        yield b"null"
        return
    spans = spans_of(body, "protobuf" if encoding == "protobuf" else "json", may_be_list=may_be_list)
    yield from stored_parts(spans, Masking(bytes.fromhex(key), ips=ips), arrived_ns=arrived_ns)


def scenario_drafts(data: bytes, *, max_scenarios: int, without: list[str]) -> Iterator[bytes]:
    """Drafts from lines of spans, one part each; then, last, what was looked at."""
    import gc

    from pipelines.core.evals.telemetry.drafts import draft_parts

    # As below: hundreds of thousands of decisions, none of which is in a loop.
    gc.disable()
    try:
        yield from draft_parts(data, most=max_scenarios, without=frozenset(without))
    finally:
        gc.enable()


def openapi_tools(data: bytes) -> Iterator[bytes]:
    """The tools of an OpenAPI document, after the notes on it."""
    import gc

    from pipelines.core.openapi.translate import translate

    # Millions of small values, none of which is in a loop: looking for loops takes a fifth of the time.
    gc.disable()
    try:
        found = translate(data)
        yield dumps(list(found.notes))
        for tool in found.tools:
            yield dumps(tool.as_json())
    finally:
        gc.enable()


def hide_secrets(data: bytes, *, secrets: dict[str, str], is_json: bool) -> Iterator[bytes]:
    """What code sends, without the values of its agent's secrets."""
    from pipelines.core.code.redaction import Redaction

    hidden = Redaction(secrets)
    yield hidden.json_bytes(data) if is_json else hidden.bytes(data)


def cassette_calls(data: bytes, *, slice_calls: int, slice_bytes: int) -> Iterator[bytes]:
    """A cassette's lines, checked whole and masked, in slices of [key, occurrence, line]; then, last, how
    many calls and bytes they are."""
    from pipelines.core.calls.cassette import read_lines
    from pipelines.core.calls.cassette_masking import mask_call

    problems: list[Problem] = []
    calls = size = held = 0
    some: list[JsonObject | list[Any]] = []
    slices: list[bytes] = []
    for recorded in read_lines((line.rstrip(b"\n") for line in BytesIO(data)), problems):
        call = mask_call(recorded)
        line = call.as_line()
        some.append([call.key, call.occurrence, line])
        calls += 1
        held += len(line.encode())
        if len(some) >= slice_calls or held >= slice_bytes:
            slices.append(dumps(some))
            size, held, some = size + held, 0, []
    if problems:
        raise Refused(problems, "the cassette")
    yield from slices
    if some:
        yield dumps(some)
    yield dumps({"calls": calls, "bytes": size + held})


def batch_report(data: bytes, *, secrets: list[str], most_bytes: int) -> Iterator[bytes]:
    """A batch as one HTML file, masked, no larger than it may be."""
    from pipelines.web.report import report_parts

    yield from report_parts(data, secrets=secrets, most_bytes=most_bytes)


JOBS: Mapping[str, Callable[..., Iterator[bytes]]] = {
    job.__name__: job
    for job in (
        *(read_json, upload_head, upload_rows, preview_rows, canonical_hash, agent_reply, entry_file),
        hide_secrets,
        *(matrix_report, heatmap, heatmap_page, heatmap_cell, compare_matrices, report_flags, batch_report),
        *(skill_spans, scenario_drafts, cassette_calls, openapi_tools, recorded_runs),
        *WORLD_JOBS,
        *AUTHORING_JOBS,
    )
}
