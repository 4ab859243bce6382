"""`pipelines eval drafts …`: what telemetry suggests as scenarios, for a person to adopt or dismiss."""

from pathlib import Path
from typing import Any

import typer

from pipelines.cli.client import Server
from pipelines.cli.files import read_text, stop
from pipelines.cli.options import Answer
from pipelines.cli.output.junit import printable
from pipelines.cli.output.listing import first_items, print_rows
from pipelines.cli.output.phrases import plural
from pipelines.core.text.problems import Refused
from pipelines.core.text.yaml_text import entries_as_yaml, read_yaml

DRAFTS, GENERATE = "/api/v1/eval/drafts", "/api/v1/eval/scenarios/auto-generate"
LARGEST_CORRECTIONS = 1 << 20


def show_drafts(server: Server, *, status: str | None, limit: int) -> Answer:
    chosen = status or "draft"
    items = first_items(server, DRAFTS, limit, status=chosen if chosen != "any" else None)
    items.sort(key=lambda item: -item["confidence"])
    return Answer(items, _print_table)


def _print_table(items: list[Any]) -> None:
    columns = ("id", "kind", "confidence", "support", "name")
    print_rows(columns, [_row(item) for item in items], empty="There are no drafts.")


def _row(item: Any) -> tuple[str, ...]:
    support = item["support"]
    status = f" ({item['status']})" if item["status"] != "draft" else ""
    cells = (item["kind"], f"{item['confidence']:.2f}", f"{support['k']} of {support['n']}")
    return item["id"], *cells, item["name"] + status


def show_draft(server: Server, draft_id: str) -> Answer:
    draft = server.get(f"{DRAFTS}/{draft_id}")
    return Answer(draft, lambda draft: typer.echo(entries_as_yaml(draft), nl=False))


def generate_drafts(server: Server, body: dict[str, Any]) -> Answer:
    return Answer(server.post(GENERATE, body), _print_generated)


def _print_generated(answer: Any) -> None:
    _print_table(answer["scenarios"])
    looked = answer["looked_at"]
    seen = f"{plural(looked['spans'], 'span')} of {plural(looked['skills'], 'skill')}"
    typer.echo(f"\nLooked at {seen}: {plural(answer['created'], 'new draft')}.")
    for note in answer["notes"]:
        typer.echo(f"  {printable(str(note))}")


def adopt_drafts(server: Server, ids: list[str], *, corrections: Path | None) -> Answer:
    if corrections is not None and len(ids) > 1:
        stop("--corrections are for one draft: adopt the others by themselves.")
    body = _corrections(corrections) if corrections is not None else {}
    adopted = {id: server.post(f"{DRAFTS}/{id}/adopt", body) for id in dict.fromkeys(ids)}
    lines = (f"{id}: {scenario['id']}  {scenario['name']}" for id, scenario in adopted.items())
    return Answer.line([*adopted.values()], "\n".join(lines))


def _corrections(path: Path) -> Any:
    try:
        value = read_yaml(read_text(path), what="correction", most_bytes=LARGEST_CORRECTIONS).value
    except Refused as refused:
        stop(f"{path}: {'; '.join(problem.message for problem in refused.problems)}")
    if not isinstance(value, dict):
        stop(f"{path}: must be an object of fields")
    return value


def dismiss_drafts(server: Server, ids: list[str]) -> None:
    for id in dict.fromkeys(ids):
        server.post(f"{DRAFTS}/{id}/dismiss")
    typer.echo(f"Dismissed {plural(len(set(ids)), 'draft')}.")
