"""`pipelines eval export` and `import`: scenarios as a file that people edit and keep beside their code."""

import json
from pathlib import Path

import typer

from pipelines.cli.client import Server
from pipelines.cli.eval.upload import SCENARIOS, told, upload
from pipelines.cli.files import stderr, stop, write_text
from pipelines.core.evals.scenario_file import write_scenarios

ENDINGS = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


def export_scenarios(server: Server, ids: list[str], *, file: Path | None, as_format: str | None) -> None:
    if ids:
        stored = [server.get(f"{SCENARIOS}/{id}") for id in dict.fromkeys(ids)]
    else:
        stored = server.every(SCENARIOS)
    if not stored:
        stop("There is no scenario to export.")
    chosen = as_format or (ENDINGS.get(file.suffix.lower(), "yaml") if file is not None else "yaml")
    text = write_scenarios(stored, as_format=chosen)
    if file is None:
        typer.echo(text, nl=False)
    else:
        write_text(file, text)
        stderr.print(f"{file}: {len(stored)} scenarios", markup=False)


def import_scenarios(server: Server, file: Path, *, as_json: bool) -> None:
    uploaded = upload(server, file)
    if as_json:
        typer.echo(json.dumps([scenario._asdict() for scenario in uploaded]))
        return
    for scenario in uploaded:
        typer.echo(f"{scenario.id}  version {scenario.version}  {scenario.what:9}  {scenario.name}")
    stderr.print(told(file, uploaded), markup=False)
