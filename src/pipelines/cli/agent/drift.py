"""`pipelines odyssey drift`: which tools of a real backend no longer do what their plans say."""

import time
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pipelines.cli.agent.fidelity import with_plans
from pipelines.cli.agent.read_recording import RecordedBackend, read_recorded_backend
from pipelines.cli.options import Answer
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.fidelity.fidelity import Report, replay
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.statistics import fisher_exact
from pipelines.core.tools.tools_schema import Tool
from pipelines.wire.records import Record, shown

MOST_DIFFERENCES = 3  # shown of a tool
#: A tool has drifted if so small a share of chance comparisons would differ as much.
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolDrift(Record):
    """How often the same plan is exactly right on the older and on the newer recording."""

    tool: str
    right_before: int
    calls_before: int
    right_now: int
    calls_now: int
    p: float  # the chance of such a difference if nothing had changed (Fisher's exact test)

    @property
    @shown(after="p")
    def has_drifted(self) -> bool:
        is_worse = self.right_now * self.calls_before < self.right_before * self.calls_now
        return is_worse and self.p < ALPHA


def measure_drift(newer: Path, older: Path, *, plans: Path | None, tools: Path | None) -> Answer:
    """Both recordings replayed against the same plans."""
    now, before = read_recorded_backend(newer, tools), read_recorded_backend(older, tools)
    used = with_plans(before.tools, plans) if plans is not None else before.tools
    reports = [_replay(backend, used) for backend in (before, now)]
    rows = [_compare(name, *reports) for name in dict.fromkeys(one.tool for one in reports[1].outcomes)]
    changed = [row.tool for row in rows if row.has_drifted]
    declared = {tool.name for tool in before.tools}
    added = sorted({tool.name for tool in now.tools} - declared)
    value: JsonObject = {
        "tools": [row.as_json() for row in rows],
        "drifted": [*changed],
        "new_tools": [*added],
    }

    def show(_: object) -> None:
        _print_drift(rows, reports[1], added)

    return Answer(value, show, code=1 if changed or added else 0)


def _replay(backend: RecordedBackend, tools: tuple[Tool, ...]) -> Report:
    names = {tool.name for tool in tools}
    known = replace(
        backend.recording,
        tasks=tuple(
            replace(task, calls=tuple(call for call in task.calls if call.tool in names))
            for task in backend.recording.tasks
        ),
    )
    return replay(known, lambda world: build_simulator(tools, world=world), clock=time.perf_counter)


def _compare(name: str, before: Report, now: Report) -> ToolDrift:
    old, new = _right_and_calls(before, name), _right_and_calls(now, name)
    return ToolDrift(
        tool=name,
        right_before=old[0],
        calls_before=old[1],
        right_now=new[0],
        calls_now=new[1],
        p=fisher_exact(old, new),
    )


def _right_and_calls(report: Report, name: str) -> tuple[int, int]:
    own = [one for one in report.outcomes if one.tool == name]
    return sum(one.fm_forced and one.cm_forced for one in own), len(own)


def _print_drift(rows: list[ToolDrift], now: Report, added: list[str]) -> None:
    console = Console(highlight=False)
    table = Table("tool", "right before", "right now", "p", "")
    for row in rows:
        table.add_row(
            row.tool,
            f"{row.right_before} of {row.calls_before}" if row.calls_before else "–",
            f"{row.right_now} of {row.calls_now}",
            "< 0.001" if row.p < 0.001 else f"{row.p:.3f}",
            "changed" if row.has_drifted else "",
        )
    console.print(table)
    drifted = [row.tool for row in rows if row.has_drifted]
    for tool in drifted:
        console.print(f"\n[bold]{tool}[/]")
        for mismatch in now.mismatches(tool)[:MOST_DIFFERENCES]:
            console.print(f"  task {mismatch.task}, call {mismatch.call}:", markup=False)
            for difference in mismatch.differences:
                console.print(f"    {difference}", markup=False, soft_wrap=True)
    if added:
        console.print(f"\nNew tools, without a plan: {', '.join(added)}.", soft_wrap=True)
    if not added and not drifted:
        console.print("No tool has changed.")
