"""`pipelines eval export` and `import`: scenarios as a file that people edit and keep beside their code."""

from pathlib import Path
from typing import Any, NamedTuple

import typer

from pipelines.cli.client import Server
from pipelines.cli.eval.upload import SCENARIOS, VARIATIONS, Uploaded, upload, upload_summary
from pipelines.cli.files import stderr, stop, write_text
from pipelines.cli.options import Answer
from pipelines.cli.output.phrases import plural
from pipelines.core.evals.scenarios.pair import JOINT
from pipelines.core.evals.scenarios.scenario import Scenario
from pipelines.core.evals.scenarios.scenario_file import ScenarioFile
from pipelines.core.evals.scenarios.variation import Variation


class ExportTarget(NamedTuple):
    file: Path | None  # None: the terminal
    format: str | None  # None: as the file's name ends
    with_ids: bool  # for this server; without them a file can go anywhere

    @property
    def is_json(self) -> bool:
        if self.format is not None or self.file is None:
            return self.format == "json"
        return self.file.suffix.lower() == ".json"


def export_scenarios(server: Server, ids: list[str], *, to: ExportTarget) -> None:
    if ids:
        stored = [server.get(f"{SCENARIOS}/{id}") for id in dict.fromkeys(ids)]
    else:
        # Oldest first, as their author wrote them; a list is newest first.
        stored = server.every(SCENARIOS)[::-1]
    if not stored:
        stop("There are no scenarios to export.")
    whole = scenario_file_of(stored, server.every(VARIATIONS), with_ids=to.with_ids)
    text = whole.as_json_text() if to.is_json else whole.as_yaml()
    if to.file is None:
        typer.echo(text, nl=False)
    else:
        write_text(to.file, text)
        stderr.print(f"{to.file}: {plural(len(stored), 'scenario')}", markup=False)


def scenario_file_of(stored: list[Any], variations: list[Any], *, with_ids: bool = False) -> ScenarioFile:
    """The file of these scenarios, with the user's own variations that they name."""
    scenarios = tuple(Scenario.from_stored(body) for body in stored)
    named = {part for scenario in scenarios for id in scenario.variations for part in id.split(JOINT)}
    own = [body for body in variations if body["id"] in named and not body.get("is_builtin")]
    return ScenarioFile(
        scenarios=scenarios,
        variations=tuple(Variation.from_stored(body) for body in own),
        ids=tuple(body["id"] for body in stored) if with_ids else (),
    )


def import_scenarios(server: Server, file: Path) -> Answer:
    uploaded = upload(server, file)
    return Answer([scenario._asdict() for scenario in uploaded], lambda _: _print_uploaded(file, uploaded))


def _print_uploaded(file: Path, uploaded: list[Uploaded]) -> None:
    for scenario in uploaded:
        typer.echo(f"{scenario.id}  version {scenario.version}  {scenario.what:9}  {scenario.name}")
    stderr.print(upload_summary(file, uploaded), markup=False)
