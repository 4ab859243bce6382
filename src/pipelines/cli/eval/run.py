"""`pipelines eval run`: runs scenarios × variations on an agent; prints heatmap and findings; exit code."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from pipelines.cli.agent.find_agent import find_agent
from pipelines.cli.client import Server
from pipelines.cli.eval import failed_runs
from pipelines.cli.eval.findings import print_findings
from pipelines.cli.eval.gate import FailOn, exit_code, reasons_not_met, reasons_unmeasured
from pipelines.cli.eval.heatmap import heatmap
from pipelines.cli.eval.junit import as_junit
from pipelines.cli.eval.upload import scenario_ids
from pipelines.cli.files import stop, write_text
from pipelines.cli.output.junit import printable
from pipelines.cli.output.phrases import plural
from pipelines.cli.progress import INTERRUPTED, OpenedBatch, stderr, watch_batch
from pipelines.core.results.gate import ExitCode

MATRIX = "/api/v1/eval/matrix"
WORST_FIRST = ("critical", "susceptible", "failing", "inconclusive", "incomplete", "exempt", "robust")


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputFiles:
    """Files to write a matrix to, besides the terminal."""

    junit: Path | None = None
    html: Path | None = None
    svg: Path | None = None
    csv: Path | None = None

    def all(self) -> list[Path]:
        return [path for path in (self.junit, self.html, self.svg, self.csv) if path is not None]

    def heatmaps(self) -> list[tuple[str, Path]]:
        kinds = (("html", self.html), ("svg", self.svg), ("csv", self.csv))
        return [(kind, path) for kind, path in kinds if path is not None]


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixOptions:
    scenarios: tuple[str, ...]  # files, or ids of scenarios that are there
    agent: str | None
    variations: tuple[str, ...] | None
    repeats: int
    baseline_repeats: int | None
    intensity: int | None
    delivery: str | None
    parallel: int | None
    rng_seed: int | None
    resume: str | None
    fail_on: FailOn
    files: OutputFiles
    as_json: bool
    max_cost_usd: float | None = None
    max_model_tokens: int | None = None
    label: str | None = None
    note: str | None = None


class MatrixResult(NamedTuple):
    report: Any
    was_cancelled: bool
    code: ExitCode


def run_matrix(server: Server, options: MatrixOptions) -> None:
    ran = run_once(server, options)
    if ran.was_cancelled or ran.code:
        raise typer.Exit(INTERRUPTED if ran.was_cancelled else int(ran.code))


def run_once(server: Server, options: MatrixOptions) -> MatrixResult:
    """Open a matrix, watch it, and print it."""
    for file in options.files.all():
        write_text(file, "")  # better now than after an hour of runs
    if options.resume is not None:
        path, body = f"{MATRIX}/{options.resume}/resume", _budget(options) or None
    else:
        path, body = MATRIX, _request_body(server, options)
    opened, _, was_cancelled = watch_batch(
        server,
        lambda: _opened_batch(server.post(path, body)),
        live=lambda batch: _live_counts(batch["counts"]),
    )
    report = server.get(f"{MATRIX}/{opened.name}")
    write_outputs(server, report, options.files, options.fail_on, as_json=options.as_json)
    if was_cancelled or report["status"] in ("cancelled", "budget_exceeded"):
        is_spent = report["status"] == "budget_exceeded"
        why = "Its budget for models is used up" if is_spent else "Cancelled"
        again = f"pipelines eval run --resume {opened.name}" + (" --max-model-tokens N" if is_spent else "")
        stderr.print(f"{why}. Continue with: {again}", soft_wrap=True)
        return MatrixResult(report, was_cancelled, ExitCode.COULD_NOT_RUN)
    code = exit_code(report, options.fail_on, failed_runs.error_classes(server, report))
    if code is not ExitCode.MET:
        reasons = reasons_not_met(report, options.fail_on) or reasons_unmeasured(report)
        text = "not met" if code is ExitCode.NOT_MET else "unknown, because runs could not be run"
        stderr.print(f"Gate --fail-on {options.fail_on}: {text}, {', '.join(reasons)}.", soft_wrap=True)
    return MatrixResult(report, was_cancelled, code)


def _request_body(server: Server, options: MatrixOptions) -> dict[str, Any]:
    if not options.scenarios:
        stop("Give a file of scenarios (or ids: scn_…), or --resume mtx_….")
    agent = find_agent(server, options.agent) if options.agent is not None else None
    body: dict[str, Any] = {
        "scenario_ids": scenario_ids(server, options.scenarios),
        "agent_id": agent["id"] if agent is not None else None,
        "variation_types": list(options.variations) if options.variations else None,
        "repeats": options.repeats,
        "baseline_repeats": options.baseline_repeats,
        "intensity": options.intensity,
        "delivery": options.delivery,
        "parallel": options.parallel != 1,
        "concurrency": options.parallel if options.parallel != 1 else None,
        "rng_seed": options.rng_seed,
        **_budget(options),
        "label": options.label,
        "note": options.note,
    }
    return {key: value for key, value in body.items() if value is not None}


def _budget(options: MatrixOptions) -> dict[str, Any]:
    limits = {"max_cost_usd": options.max_cost_usd, "max_model_tokens": options.max_model_tokens}
    return {name: limit for name, limit in limits.items() if limit is not None}


def _opened_batch(matrix: Any) -> OpenedBatch:
    matrix_id = str(matrix["matrix_id"])
    return OpenedBatch(int(matrix["batch_id"]), matrix_id, f"{MATRIX}/{matrix_id}/cancel")


def _live_counts(counts: Any) -> str:
    failed = counts["by_status"].get("failed", 0)
    return f"[yellow]{plural(failed, 'error')}[/]" if failed else ""


def write_outputs(server: Server, report: Any, files: OutputFiles, fail_on: FailOn, *, as_json: bool) -> None:
    """Print before writing files: an error in a file must not lose the results."""
    console = Console(highlight=False)
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False))
    else:
        _print_matrix(console, report, failed=failed_runs.explain_failures(server, report))
    if files.junit is not None:
        write_text(files.junit, as_junit(report, fail_on))
    for kind, path in files.heatmaps():
        write_text(path, server.text(f"{MATRIX}/{report['matrix_id']}/heatmap.{kind}"))
    if not as_json:
        _print_output_files(console, report, files)


def _print_matrix(console: Console, report: Any, *, failed: list[list[str]]) -> None:
    """Print the heatmap, the findings, and the counts of verdicts."""
    agent, progress = report["agent"], report["progress"]
    errors = f", {plural(progress['errors'], 'error')}" if progress["errors"] else ""
    done = f"{progress['done']} of {plural(progress['total'], 'run')}{errors}"
    name = Text(printable(agent["name"]), style="bold")
    console.print(Text.assemble(name, f", version {agent['version']}: {done}"))
    console.print(f"{report['matrix_id']}\n", style="dim")
    is_unicode = console.encoding.lower().startswith("utf")
    for line in heatmap(report, width=console.width, is_unicode=is_unicode):
        console.print(line, soft_wrap=False)
    console.print()
    print_findings(console, report, failed=failed)
    console.print()
    counted = report["summary"]["verdicts"]
    text = ", ".join(f"{counted[verdict]} {verdict}" for verdict in WORST_FIRST if counted.get(verdict))
    console.print(f"{plural(len(report['cells']), 'cell')}: {text}")
    console.print("In brackets: 95 % intervals. p is adjusted for all cells.", style="dim")


def _print_output_files(console: Console, report: Any, files: OutputFiles) -> None:
    for kind, path in files.heatmaps():
        console.print(f"Heatmap as {kind.upper()}: {path}", soft_wrap=True, markup=False)
    if files.html is None:
        text = f"As a page: pipelines eval show {report['matrix_id']} --html FILE"
        console.print(text, soft_wrap=True, markup=False, style="dim")
