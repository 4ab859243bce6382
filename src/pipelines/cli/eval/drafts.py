"""`pipelines eval drafts …`: what telemetry suggests as scenarios, for a person to adopt or dismiss."""

import json
from pathlib import Path
from typing import Any

import typer

from pipelines.cli.client import Server
from pipelines.cli.files import read_text, stop
from pipelines.cli.output.junit import printable
from pipelines.cli.output.listing import first_items, print_rows
from pipelines.cli.output.phrases import plural
from pipelines.core.text.problems import Refused
from pipelines.core.text.yaml_text import entries_as_yaml, read_yaml

DRAFTS, GENERATE = "/api/v1/eval/drafts", "/api/v1/eval/scenarios/auto-generate"
LARGEST_CORRECTIONS = 1 << 20


def print_drafts(server: Server, *, status: str | None, limit: int, as_json: bool) -> None:
    chosen = status or "draft"
    items = first_items(server, DRAFTS, limit, status=chosen if chosen != "any" else None)
    items.sort(key=lambda item: -item["confidence"])
    if as_json:
        typer.echo(json.dumps(items, ensure_ascii=False))
    else:
        _print_table(items)


def _print_table(items: list[Any]) -> None:
    columns = ("id", "kind", "confidence", "support", "name")
    print_rows(columns, [_row(item) for item in items], empty="There are no drafts.")


def _row(item: Any) -> tuple[str, ...]:
    support = item["support"]
    status = f" ({item['status']})" if item["status"] != "draft" else ""
    cells = (item["kind"], f"{item['confidence']:.2f}", f"{support['k']} of {support['n']}")
    return item["id"], *cells, item["name"] + status


def print_draft(server: Server, draft_id: str, *, as_json: bool) -> None:
    draft = server.get(f"{DRAFTS}/{draft_id}")
    typer.echo(json.dumps(draft, ensure_ascii=False) if as_json else entries_as_yaml(draft), nl=as_json)


def generate_drafts(server: Server, body: dict[str, Any], *, as_json: bool) -> None:
    answer = server.post(GENERATE, body)
    if as_json:
        typer.echo(json.dumps(answer, ensure_ascii=False))
        return
    _print_table(answer["scenarios"])
    looked = answer["looked_at"]
    seen = f"{plural(looked['spans'], 'span')} of {plural(looked['skills'], 'skill')}"
    typer.echo(f"\nLooked at {seen}: {plural(answer['created'], 'new draft')}.")
    for note in answer["notes"]:
        typer.echo(f"  {printable(str(note))}")


def adopt_drafts(server: Server, ids: list[str], *, corrections: Path | None, as_json: bool) -> None:
    if corrections is not None and len(ids) > 1:
        stop("--corrections are for one draft: adopt the others by themselves.")
    body = _corrections(corrections) if corrections is not None else {}
    adopted = [server.post(f"{DRAFTS}/{id}/adopt", body) for id in dict.fromkeys(ids)]
    if as_json:
        typer.echo(json.dumps(adopted, ensure_ascii=False))
        return
    for id, made in zip(dict.fromkeys(ids), adopted, strict=True):
        typer.echo(f"{id}: {made['id']}  {made['name']}")


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
