"""`pipelines odyssey fidelity`: replay a recording, print the measures, the strata and the worst tools."""

import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pipelines.cli.agent.read_recording import read_recorded_backend
from pipelines.cli.files import or_stop, read_text, stop
from pipelines.cli.options import Answer
from pipelines.cli.output.phrases import plural
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.fidelity.fidelity import Report, Tally, replay
from pipelines.core.simulation.fidelity.recording import SIMULATED, Origin
from pipelines.core.simulation.plan_text import parse_plans_text
from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.tools_schema import Tool

MOST_TOOLS_SHOWN = 5


def measure_fidelity(directory: Path, plans: Path | None) -> Answer:
    recording, tools = read_recorded_backend(directory)
    if plans is not None:
        tools = with_plans(tools, plans)
    report = replay(recording, lambda world: build_simulator(tools, world=world), clock=time.perf_counter)
    origin = recording.origin()
    compared: JsonObject = {"recording": str(directory), **origin.as_json()}

    def show(_: object) -> None:
        _print_origin(origin, directory)
        _print(report)

    return Answer({"compared_with": compared} | report.as_json(), show)


def _print_origin(origin: Origin, directory: Path) -> None:
    """Print what was measured, before the figures."""
    console = Console(highlight=False, soft_wrap=True)
    calls, tasks = plural(origin.calls, "call"), plural(origin.tasks, "task")
    console.print(
        f"Compared with the recording {directory}: {calls} of {tasks}, {_when(origin)}.", markup=False
    )
    named = [f"{count} by {_WHO.get(source, source)}" for source, count in origin.sources.items()]
    if named:
        console.print(f"Its calls were answered: {', '.join(named)}.", markup=False)
    if origin.simulated:
        share = "" if origin.simulated == origin.calls else f"In {origin.simulated} of {origin.calls} calls "
        what = "this compares the simulator with itself and says nothing about a real backend."
        console.print(f"[yellow]{share}{what if share else what[0].upper() + what[1:]}[/]")


_WHO = {
    SIMULATED: "the simulator itself",
    "passthrough": "the real backend",
    None: "a backend that the recording does not name",
}


def _when(origin: Origin) -> str:
    if origin.first_at is None or origin.last_at is None:
        return "made at a time that it does not say"
    first, last = origin.first_at[:10], origin.last_at[:10]
    return f"made on {first}" if first == last else f"made from {first} to {last}"


def with_plans(tools: tuple[Tool, ...], path: Path) -> tuple[Tool, ...]:
    plans = or_stop(path, parse_plans_text, read_text(path), tool_names=[tool.name for tool in tools])
    unknown = sorted(plans.keys() - {tool.name for tool in tools})
    if unknown:
        stop(f"{path}: plans for tools that are not declared: {', '.join(unknown)}")
    return tuple(
        replace(tool, simulation=plans[tool.name].as_json()) if tool.name in plans else tool for tool in tools
    )


def _print(report: Report) -> None:
    console = Console(highlight=False)
    figures = report.as_json()
    summary = Table("measure", "free-running", "forced")
    for label, free, forced in (
        ("FM, all replies", "fm_all", "fm_all_forced"),
        ("FM, reads", "fm_reads", "fm_reads_forced"),
        ("FM, errors", "fm_errors", "fm_errors_forced"),
        ("CM, state-changing calls", "cm_writes_free", "cm_writes_forced"),
        ("CM, all calls", "cm_all_free", "cm_all_forced"),
    ):
        summary.add_row(label, _percent(figures[free]), _percent(figures[forced]))
    summary.add_row("tasks ending in the real state", _percent(figures["tasks_final_state"]), "")
    console.print(summary)
    console.print(f"inside the engine: p50 {figures['p50_us']:.0f} µs, p99 {figures['p99_us']:.0f} µs\n")
    for title, tallies in (
        ("kind of call", report.by_kind()),
        ("leaves changed", report.by_leaves()),
        ("outcome", report.by_outcome()),
    ):
        console.print(_strata(title, tallies))
    _print_worst(console, report)


def _strata(title: str, tallies: dict[str, Tally]) -> Table:
    table = Table(title, "calls", "FM free", "FM forced", "CM free", "CM forced")
    for name, tally in tallies.items():
        shares = (tally.fm_free, tally.fm_forced, tally.cm_free, tally.cm_forced)
        table.add_row(name, str(tally.calls), *map(_percent, shares))
    return table


def _print_worst(console: Console, report: Report) -> None:
    worst = report.worst_tools()
    for tool in worst[:MOST_TOOLS_SHOWN]:
        tally = report.by_tool()[tool]
        shares = f"FM {_percent(tally.fm_forced)}, CM {_percent(tally.cm_forced)}"
        console.print(f"\n[bold]{tool}[/]: {plural(tally.calls, 'call')}, {shares}")
        for mismatch in report.mismatches(tool):
            console.print(f"  task {mismatch.task}, call {mismatch.call}:", markup=False)
            for difference in mismatch.differences:
                console.print(f"    {difference}", markup=False, soft_wrap=True)
    if len(worst) > MOST_TOOLS_SHOWN:
        console.print(
            f"\n… and {len(worst) - MOST_TOOLS_SHOWN} more tools with mismatches: --json has them all"
        )


def _percent(share: object) -> str:
    return f"{share:.1%}" if isinstance(share, (int, float)) else "–"
