"""Prints the rows of a world: the instruction, the oracle, and the calls that verify it."""

from typing import Any

from rich.console import Console

from pipelines.cli.client import Server
from pipelines.cli.files import stop
from pipelines.cli.options import Answer
from pipelines.cli.output.blocks import (
    arguments_text,
    new_console,
    one_line,
    print_block,
    print_title,
    value_text,
)
from pipelines.cli.output.world_report import path_of, print_buckets, print_next

LONGEST = 200
WITHOUT_LIMIT = 10**9
#: What becomes of a request, where the API's word for it needs an explanation.
OUTCOMES = {
    "refused": "refused by the backend",
    "forbidden": "refused by a rule",
    "not_found": "unknown id",
    "recovered": "recovered from a failure",
}


def bucket_number(server: Server, session_id: int, given: str) -> int:
    """The number of the bucket with this number or name."""
    buckets = server.get(path_of(session_id))["buckets"]
    found = [bucket["number"] for bucket in buckets if given in (str(bucket["number"]), bucket["name"])]
    if not found:
        known = ", ".join(f"{bucket['number']} ({bucket['name']})" for bucket in buckets)
        stop(f"Session {session_id} has no bucket {given!r}; it has {known}.")
    return int(found[0])


def show_rows(server: Server, session_id: int, *, bucket: str | None, rejected: bool, full: bool) -> Answer:
    number = bucket_number(server, session_id, bucket) if bucket is not None else None
    state = "rejected" if rejected else "kept"
    rows = server.every(f"{path_of(session_id)}/rows", status=state, bucket=number)
    return Answer(rows, lambda found: print_rows(server, session_id, found, rejected=rejected, full=full))


def print_rows(
    server: Server, session_id: int, rows: list[Any], *, rejected: bool = False, full: bool = False
) -> None:
    session, console = server.get(path_of(session_id)), new_console()
    names = {each["number"]: each["name"] for each in session["buckets"]}
    if not rows:
        print_block(console, "", _none(session, rejected), indent=0)
    for place in dict.fromkeys(row["bucket"] for row in sorted(rows, key=lambda row: row["bucket"])):
        print_title(console, f"{names[place]}:")
        for row in rows:
            if row["bucket"] == place:
                _print_row(console, row, full=full)
    if not rejected:
        _print_coverage(console, server.get(f"{path_of(session_id)}/coverage"))
        print_buckets(console, session, full=full)
        print_next(console, session)


def _print_coverage(console: Console, coverage: Any) -> None:
    if not coverage["rows"]:
        return
    print_title(console, "\nCoverage")
    for name, label in (("by_tool", "tools"), ("by_outcome", "outcomes"), ("by_trigger", "failures")):
        counted = {OUTCOMES.get(what, what): often for what, often in coverage[name].items() if often}
        text = ", ".join(f"{what} {often}" for what, often in counted.items())
        if text:
            print_block(console, label, text, indent=10)
    for note in coverage["notes"]:
        print_block(console, "", note, indent=10, rest="dim")


def _none(session: Any, rejected: bool) -> str:
    if rejected:
        return "No draft was rejected."
    if session["status"] == "world_review":
        return f"There are no rows yet: pipelines worlds continue {session['id']}"
    return "There are no rows."


def _print_row(console: Console, row: Any, *, full: bool) -> None:
    longest = WITHOUT_LIMIT if full else LONGEST
    text = row["user_instruction"] if full else one_line(row["user_instruction"], longest)
    print_block(console, f"{row['id']:>5}", text, indent=7)
    if row["reason"]:
        summary = f"{row['reason_code'].replace('_', ' ')}: {row['reason']}"
        print_block(console, "", summary, indent=7, rest="yellow")
        return
    rules = f", {len(row['failure_rules'])} failure rule" if row["failure_rules"] else ""
    rules += "s" if len(row["failure_rules"]) > 1 else ""
    right = row["expected_outcome"] or "no expected outcome"
    calls = row["proof"]["calls"]
    tools = " → ".join(call["tool"] for call in calls) or "no calls"
    print_block(console, "", f"{right}{rules}; {tools}", indent=7, rest="dim")
    if full:
        _print_proof(console, row)


def _print_proof(console: Console, row: Any) -> None:
    for call in row["proof"]["calls"]:
        status = f" {call['status']}" if call["status"] is not None else ""
        injected = " (injected)" if call["is_injected"] else ""
        called = f"{call['tool']} {arguments_text(call['arguments'], LONGEST)}"
        print_block(console, "       call", called, indent=14)
        print_block(
            console, "", f"{status.strip()} {value_text(call['response'], LONGEST)}{injected}", indent=14
        )
    labels = {"expected_state": "state", "expected_calls": "calls", "failure_rules": "faults"}
    for name, label in labels.items():
        if row[name]:
            print_block(console, f"       {label}", value_text(row[name], WITHOUT_LIMIT), indent=14)
    print_block(console, "       proof", row["proof"]["said"], indent=14, rest="green")
