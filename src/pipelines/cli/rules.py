"""`pipelines odyssey rules`: what the server's model makes of sentences that are not understood."""

from typing import Any

import typer

from pipelines.cli.client import Server
from pipelines.core.json_text import dumps


def print_rules(server: Server, dataset_id: int, *, propose: bool, accept: bool, as_json: bool) -> None:
    path = f"/api/datasets/{dataset_id}/rules"
    items = server.post(f"{path}/propose", {})["items"] if propose else server.get(path)["items"]
    if accept:
        items = [_accepted(server, path, item) for item in items]
    if as_json:
        typer.echo(dumps(items).decode())
        return
    for item in items:
        typer.echo(_section(item))
    if not items:
        typer.echo(
            "Every sentence is understood." if propose else "There are no rules yet: --propose asks for some."
        )


def _accepted(server: Server, path: str, item: Any) -> Any:
    return server.post(f"{path}/{item['id']}/accept") if item["status"] == "proposed" else item


def _section(item: Any) -> str:
    tried = item["tried"]
    lines = [f"{item['id']}  {item['status']}  {item['sentence']}"]
    lines += [f"    {dumps(rule).decode()}" for rule in item["rules"]]
    if item["left_out"]:
        lines.append(f"    left out: {item['left_out']}")
    if item["rules"]:
        figures = f"{tried['calls']} calls, {tried['differ']} answered otherwise, {tried['refused']} refused"
        lines.append(f"    tried: {figures}")
    if tried["problem"]:
        lines.append(f"    cannot be accepted: {tried['problem']}")
    return "\n".join(lines)
