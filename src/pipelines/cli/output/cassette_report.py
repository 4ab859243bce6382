"""What `pipelines cassette` prints: cassettes as rows, calls as blocks, differences by their path."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import typer
from rich.console import Console

from pipelines.cli.client import Server
from pipelines.cli.files import read_bytes, stderr, stop, write_text
from pipelines.cli.options import Answer
from pipelines.cli.output.blocks import arguments_text, new_console, print_block, print_title, value_text
from pipelines.cli.output.listing import print_rows
from pipelines.cli.output.phrases import plural
from pipelines.core.results.gate import ExitCode

LONGEST = 200  # characters of arguments or an answer; --full has all of it
WITHOUT_LIMIT = 10**9
MOST_CALLS = 50
SUFFIX = ".jsonl"


def path_of(name: str) -> str:
    """The API path of a cassette. Invalid names are refused, so that none leads to another path."""
    if name in ("", ".", ".."):
        stop(f"`{name}` is not a valid name for a cassette.")
    return f"/api/cassettes/{quote(name, safe='')}"


def show_cassettes(server: Server) -> Answer:
    return Answer(server.every("/api/cassettes"), _print_cassettes)


def _print_cassettes(items: list[Any]) -> None:
    rows = [_row(each) for each in items]
    record = "`pipelines run --passthrough record --cassette NAME`"
    empty = f"There are no cassettes yet: record one with {record}."
    print_rows(["name", "calls", "size", "changed"], rows, empty=empty)
    for each in items:
        if each["dropped"]:
            text = f"{each['name']} is full: {plural(each['dropped'], 'call')} could not be recorded."
            print_block(new_console(), "", text, indent=0, rest="yellow")


def show_calls(server: Server, name: str, *, tool: str | None, full: bool) -> Answer:
    lines = server.text(path_of(name)).splitlines()
    calls = [call for call in map(json.loads, lines) if tool is None or call["tool"] == tool]
    of_tool = f" of {tool}" if tool is not None else ""
    title = f"Cassette {name}: {plural(len(calls), 'call')}{of_tool}"
    return Answer(calls, lambda calls: _print_calls(title, calls, full=full))


def _print_calls(title: str, calls: list[Any], *, full: bool) -> None:
    console, longest = new_console(), WITHOUT_LIMIT if full else LONGEST
    print_title(console, title)
    printed = calls if full else calls[:MOST_CALLS]
    for call in printed:
        _print_call(console, call, longest)
    if len(calls) > len(printed):
        print_block(console, "", f"… and {plural(len(calls) - len(printed), 'more call')}: --full", indent=0)


def _print_call(console: Console, call: Any, longest: int) -> None:
    print_block(console, "", _format_call(call, longest), indent=2, rest="bold")
    if "failure" in call:
        print_block(console, "", f"no answer: {call['failure']}", indent=4, rest="red")
    else:
        print_block(console, "", f"{call['status']} {value_text(call['response'], longest)}", indent=4)


def _format_call(call: Any, longest: int) -> str:
    times = f" (time {call['occurrence']})" if call["occurrence"] > 1 else ""
    masked = " (masked)" if call.get("masked") else ""
    return f"{call['tool']} {arguments_text(call['arguments'], longest)}{times}{masked}".strip()


def export(server: Server, name: str, out: Path | None) -> None:
    text = server.text(path_of(name))
    if out is None:
        typer.echo(text, nl=False)
        return
    write_text(out, text)
    typer.echo(f"{plural(len(text.splitlines()), 'call')} in {out}.", err=True)


def import_file(server: Server, file: Path, name: str | None) -> Answer:
    answer = server.put_lines(path_of(name or file.name.removesuffix(SUFFIX)), read_bytes(file))
    return Answer.line(answer, f"Cassette {answer['name']}: {plural(answer['calls'], 'call')}.")


def verify(server: Server, name: str, *, include_writes: bool, limit: int) -> Answer:
    body = {"include_writes": include_writes, "limit": limit}
    report = server.post(f"{path_of(name)}/verify", body, timeout=None)
    code = ExitCode.NOT_MET if report["differ"] or report["failed"] else ExitCode.MET
    if code is ExitCode.MET and report["calls"] and not report["asked"]:
        stderr.print("No call was repeated, so the result is unknown.", style="red", markup=False)
        code = ExitCode.COULD_NOT_RUN
    return Answer(report, lambda found: _print_report(new_console(), found), code)


def _print_report(console: Console, report: Any) -> None:
    for call in report["differences"]:
        print_block(console, "DIFFERS", _format_call(call, LONGEST), style="red")
        for each in call["differences"]:
            print_block(console, "", _format_difference(each), indent=4)
    for call in report["failures"]:
        print_block(console, "NO ANSWER", _format_call(call, LONGEST), style="red")
        print_block(console, "", call["message"], indent=4)
    for each in report["skipped"]:
        summary = f"{plural(each['calls'], 'call')} of {each['tool']}: {each['reason']}"
        print_block(console, "SKIPPED", summary, style="yellow")
    text = f"{plural(report['calls'], 'call')}: {report['same']} as recorded, {report['differ']} differ"
    never_asked = report["calls"] - report["asked"]
    print_title(console, f"{text}, {report['failed']} without an answer, {never_asked} not repeated")


def _format_difference(each: Any) -> str:
    if each["how"] == "added":
        return f"{each['path']}: {value_text(each['now'], LONGEST)} is new"
    if each["how"] == "removed":
        return f"{each['path']}: {value_text(each['recorded'], LONGEST)} is gone"
    return f"{each['path']}: {value_text(each['recorded'], LONGEST)} → {value_text(each['now'], LONGEST)}"


def _size(size: int) -> str:
    return f"{size / 1024:,.1f} KiB" if size < 1024 * 1024 else f"{size / 1024 / 1024:,.1f} MiB"


def _row(each: Any) -> tuple[str, ...]:
    changed = str(each["updated_at"])[:19].replace("T", " ")
    return each["name"], f"{each['calls']:,}", _size(each["bytes"]), changed
