"""`pipelines eval show`: a scenario as YAML, a matrix with its heatmap, a run with what moved it."""

import json
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from pipelines.cli.client import Server
from pipelines.cli.eval.gate import FailOn
from pipelines.cli.eval.run import MATRIX, OutputFiles, write_outputs
from pipelines.cli.eval.transfer import scenario_file_of
from pipelines.cli.eval.upload import SCENARIOS
from pipelines.cli.files import is_number, stop
from pipelines.cli.output import phrases
from pipelines.cli.output.junit import printable

RUNS = "/api/v1/eval/runs"
LONGEST = 2_000  # characters of a text; `--json` has all of it


def print_one(server: Server, id: str, *, files: OutputFiles, as_json: bool) -> None:
    if files.all() and not id.startswith("mtx_"):
        stop("Only a matrix (mtx_…) has a heatmap.")
    if id.startswith("mtx_"):
        write_outputs(server, server.get(f"{MATRIX}/{id}"), files, FailOn.NEVER, as_json=as_json)
    elif id.startswith("scn_"):
        scenario = server.get(f"{SCENARIOS}/{id}")
        about = f"# {scenario['id']}, version {scenario['version']}\n"
        typer.echo(
            json.dumps(scenario) if as_json else about + scenario_file_of([scenario], []).as_yaml(),
            nl=as_json,
        )
    elif is_number(id):
        run = server.get(f"{RUNS}/{id}")
        typer.echo(json.dumps(run, ensure_ascii=False)) if as_json else _print_run(run)
    else:
        stop(f"{id}: give the id of a scenario (scn_…), of a matrix (mtx_…) or of a run (a number).")


def _print_run(run: Any) -> None:
    console = Console(highlight=False)
    place = f"{printable(run['scenario']['name'])} × {printable(run['variation'] or 'baseline')}"
    console.print(Text(f"Run {run['id']}: {place}", style="bold"))
    verdict = f", verdict {run['verdict']}" if run["verdict"] not in (None, "NOT_APPLICABLE") else ""
    console.print(f"{run['status']}{verdict}, {run['matrix_id']}", markup=False, style="dim")
    _part(console, "input", run["input"]["user_instruction"])
    injected = run["injection"]
    if injected:
        how = f"{injected['delivery']}, intensity {injected['intensity']}, wording {injected['wording']}"
        _part(console, f"injected ({how})", injected["text"])
    _part(console, "answered", run["final_response"])
    _part(console, "error", _error(run))
    observed = run["observed"]
    seen = phrases.value(observed["value"], longest=LONGEST) if observed else None
    if observed and seen != run["final_response"]:
        notes = "".join(f"; {printable(note)}" for note in observed.get("notes") or ())
        _part(console, f"observed ({observed['output_class']}{notes})", seen)
    if run["matched"] is not None:
        text = "yes" if run["matched"] else f"no, {phrases.percent(run['match_score'])} of it holds"
        expected = phrases.value(run["scenario"]["expected_behavior"], longest=LONGEST)
        console.print(Text.assemble(("\nmatch ", "bold"), f"{text}; expected {expected}"))
    _print_shift(console, run["shift"])


def _error(run: Any) -> str | None:
    if not run["error_class"]:
        return None
    detail = (run["error_json"] or {}).get("detail")
    return f"{run['error_class']}: {detail}" if detail else str(run["error_class"])


def _print_shift(console: Console, shift: Any) -> None:
    if shift is None:
        return
    flip = ", the decision changed" if shift["is_flip"] else ""
    text = f"{shift['distance']:.2f} from baseline run {shift['reference_run']}{flip}"
    console.print(Text.assemble(("shift ", "bold"), text))
    moved = phrases.moved(shift["components"], most=20)
    if moved:
        console.print(Text(f"  {moved}"))
    if shift["extra_paths"]:
        paths = ", ".join(map(phrases.field, shift["extra_paths"][:10]))
        console.print(Text(f"  not counted, since nothing is expected of them: {paths}", style="dim"))


def _part(console: Console, name: str, text: Any) -> None:
    if text:
        printed = printable(str(text))
        cut = f"\n… {len(printed) - LONGEST:,} more characters: --json" if len(printed) > LONGEST else ""
        console.print(f"\n[bold]{name}[/]")
        console.print(Text(printed[:LONGEST] + cut))
