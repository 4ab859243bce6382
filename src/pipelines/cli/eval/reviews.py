"""`pipelines eval reviews …`: lists and shows items that need a decision, and records verdicts."""

from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.cli.client import Server
from pipelines.cli.options import Answer
from pipelines.cli.output import phrases
from pipelines.cli.output.junit import printable
from pipelines.cli.output.listing import UNKNOWN, first_items, print_rows
from pipelines.core.evals.reviews.review import VERDICTS, ReviewKind

REVIEWS = "/api/v1/eval/reviews"
LONGEST = 400  # characters of a value; `--json` has all of it
COLUMNS = ("id", "risk", "what", "waits for", "about")


def show_reviews(
    server: Server, *, status: str | None, kind: str | None, matrix: str | None, limit: int
) -> Answer:
    """Lists waiting items, unless another status is given."""
    items = first_items(server, REVIEWS, limit, matrix_id=matrix, status=status, kind=kind)
    empty = _empty_text(status, kind or matrix)
    return Answer(items, lambda items: print_rows(COLUMNS, [_row(item) for item in items], empty=empty))


def _empty_text(status: str | None, narrowed: str | None) -> str:
    if status in (None, "waiting"):
        return "Nothing such waits for a decision." if narrowed else "Nothing waits for a decision."
    return "There are no such reviews."


def _row(item: Any) -> tuple[str, ...]:
    missing = item.get("reviewers_missing")
    waits = item["verdict"] or (phrases.plural(missing, "reviewer") if missing else item["status"])
    return item["id"], item["risk_level"] or UNKNOWN, item["kind"], waits, review_subject(item)


def review_subject(item: Any) -> str:
    if item["scenario_id"] is None:
        return f"run {item['run_id']}"
    place = f"{item['scenario_name'] or item['scenario_id']} × {item['variation'] or 'baseline'}"
    return printable(place) + (f" (run {item['run_id']})" if item["run_id"] is not None else "")


def show_review(server: Server, review_id: str) -> Answer:
    return Answer(server.get(f"{REVIEWS}/{review_id}"), _print_review)


def _print_review(item: Any) -> None:
    console = Console(highlight=False)
    risk = f", {item['risk_level']} risk" if item["risk_level"] else ""
    console.print(Text(review_subject(item), style="bold"))
    console.print(f"{item['id']}: {item['kind']}, {item['status']}{risk}", markup=False)
    for reason in item.get("reasons") or ():
        console.print(f"- {printable(str(reason))}", markup=False)
    scenario = item.get("scenario")
    if scenario:
        console.print(f"given: {phrases.value(scenario['input_context'], longest=LONGEST)}", markup=False)
        console.print(
            f"expected: {phrases.value(scenario['expected_behavior'], longest=LONGEST)}", markup=False
        )
    for evidence in item.get("evidence") or ():
        _print_evidence(console, evidence)
    for given in item.get("verdicts") or ():
        note = f": {printable(given['note'])}" if given.get("note") else ""
        console.print(f"{printable(given['reviewer'])} says {given['verdict']}{note}", markup=False)
    choices = ", ".join(verdict.value for verdict in VERDICTS[ReviewKind(item["kind"])])
    console.print(f"\nDecide with: pipelines eval reviews decide {item['id']} VERDICT", markup=False)
    console.print(f"VERDICT is one of: {choices}", style="dim")


def _print_evidence(console: Console, evidence: Any) -> None:
    for injected in evidence.get("injected") or ():
        if injected.get("text"):
            text = printable(injected["text"])
            console.print(Text(f"\ninjected ({injected['delivery']}): {text}"))
    before = (evidence.get("baseline") or {}).get("observed")
    if before:
        console.print(f"\nwithout: {phrases.value(before.get('value'), longest=LONGEST)}", markup=False)
    components = evidence.get("components") or []
    if components:
        table = Table("field", "without", "with", "distance", box=None, padding=(0, 2, 0, 0))
        for part in components:
            sides = (phrases.side(part, "from"), phrases.side(part, "to"))
            distance = f"{part['distance']:.2f}" if "distance" in part else UNKNOWN  # a blind review has none
            table.add_row(phrases.field(part["path"]), *map(Text, sides), distance)
        console.print(table)
    alike: dict[str, list[int]] = {}
    one = [evidence] if evidence.get("run_id") is not None and evidence.get("observed") else []  # an audit
    for run in evidence.get("runs") or one:
        seen = _format_observed(run.get("observed") or {})
        alike.setdefault(seen, []).append(run["run_id"])
    for seen, ids in alike.items():
        console.print(
            f"\n{phrases.plural(len(ids), 'run')} ({', '.join(map(str, ids))}): {seen}", markup=False
        )
    final = evidence.get("final_response")
    if final is not None:
        console.print(f"final response: {printable(str(final))}", markup=False)


def _format_observed(observed: Any) -> str:
    """The observed value, with its class unless it is an object: a refusal differs from a text."""
    value_text = phrases.value(observed.get("value"), longest=LONGEST)
    kind = observed.get("output_class")
    return value_text if kind in (None, "object") else f"{kind} {value_text}"


def decide_review(server: Server, review_id: str, body: dict[str, Any]) -> Answer:
    decided = server.post(f"{REVIEWS}/{review_id}/verdict", body)
    return Answer(decided, lambda decided: _print_decision(review_id, decided))


def _print_decision(review_id: str, decided: Any) -> None:
    if decided["status"] == "decided":
        typer.echo(f"{review_id}: decided, {decided['verdict']}")
    else:
        missing = decided.get("reviewers_missing") or 0
        typer.echo(f"{review_id}: {decided['status']}; {phrases.plural(missing, 'reviewer')} still needed")
    for key, value in (decided.get("outcome") or {}).items():
        typer.echo(f"  {key}: {phrases.value(value)}")
