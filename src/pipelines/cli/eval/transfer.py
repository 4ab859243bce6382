"""`pipelines eval export` and `import`: scenarios as a file that people edit and keep beside their code."""

import json
from pathlib import Path
from typing import Any

import typer

from pipelines.cli.client import Server
from pipelines.cli.eval.upload import SCENARIOS, VARIATIONS, told, upload
from pipelines.cli.eval.words import plural
from pipelines.cli.files import stderr, stop, write_text
from pipelines.core.evals.scenario import Scenario
from pipelines.core.evals.scenario_file import ScenarioFile
from pipelines.core.evals.variation import Variation


def export_scenarios(server: Server, ids: list[str], *, file: Path | None, as_format: str | None) -> None:
    if ids:
        stored = [server.get(f"{SCENARIOS}/{id}") for id in dict.fromkeys(ids)]
    else:
        # Oldest first, as their author wrote them; a list is newest first.
        stored = [server.get(f"{SCENARIOS}/{head['id']}") for head in reversed(server.every(SCENARIOS))]
    if not stored:
        stop("There is no scenario to export.")
    whole = file_of(stored, server.every(VARIATIONS))
    is_json = as_format == "json" or (as_format is None and file is not None and file.suffix == ".json")
    text = whole.as_json_text() if is_json else whole.as_yaml()
    if file is None:
        typer.echo(text, nl=False)
    else:
        write_text(file, text)
        stderr.print(f"{file}: {plural(len(stored), 'scenario')}", markup=False)


def file_of(stored: list[Any], variations: list[Any]) -> ScenarioFile:
    """With those variations of the user's own that the scenarios speak of."""
    scenarios = tuple(Scenario.from_stored(body) for body in stored)
    named = {id for scenario in scenarios for id in scenario.variations}
    own = [body for body in variations if body["id"] in named and not body.get("is_builtin")]
    return ScenarioFile(scenarios=scenarios, variations=tuple(Variation.from_stored(body) for body in own))


def import_scenarios(server: Server, file: Path, *, as_json: bool) -> None:
    uploaded = upload(server, file)
    if as_json:
        typer.echo(json.dumps([scenario._asdict() for scenario in uploaded]))
        return
    for scenario in uploaded:
        typer.echo(f"{scenario.id}  version {scenario.version}  {scenario.what:9}  {scenario.name}")
    stderr.print(told(file, uploaded), markup=False)
