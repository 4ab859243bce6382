"""`pipelines odyssey learn`: plans for simulated tools from a recording of the real ones."""

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from pipelines.cli.agent.read_recording import read_recorded_backend
from pipelines.cli.files import read_json, read_tools, write_text
from pipelines.cli.options import Answer
from pipelines.cli.output.phrases import plural
from pipelines.core.simulation.learning import Candidate, LearnedPlans, LearnedTool, Options, Workbench
from pipelines.core.simulation.learning.learned import PlanOrigin
from pipelines.core.simulation.plan_text import plan_as_yaml

MOST_CALLS_SHOWN = 3  # of a tool that its plan does not explain
_ORIGINS: tuple[PlanOrigin, ...] = ("read", "searched", "model")


def learn_plans(
    path: Path,
    *,
    tools: Path | None,
    out: Path | None,
    into: Path | None,
    budget_s: float,
    refuse_contradictions: bool,
) -> Answer:
    if into is not None:
        read_tools(into)  # what cannot be read is refused before the search
    options = Options(budget_s=budget_s, refuse_contradictions=refuse_contradictions)
    backend = read_recorded_backend(path, tools)
    bench = Workbench(backend.recording, backend.tools, options)
    names = bench.names()
    learned = bench.learned(_learn_in_processes(path, tools, options, names))
    if out is not None:
        write_text(out, plans_file(learned))
    if into is not None:
        write_text(into, _with_simulation(into, learned))

    def show(_: object) -> None:
        _print_report(learned, path)
        for file in (out, into):
            if file is not None:
                typer.echo(f"{plural(len(learned.plans()), 'plan')} written to {file}.")
        if out is not None:
            typer.echo(f"Measure them: pipelines odyssey fidelity {path} --plans {out}")
        if out is None and into is None:
            typer.echo("Nothing is saved: --out plans.yaml or --into agent.json writes the plans.")

    return Answer(learned.as_json(), show, code=0 if learned.tools else 1)


def plans_file(learned: LearnedPlans) -> str:
    """Plans that reading would not give anyway, as YAML, each with what it rests on."""
    parts = []
    for one in learned.tools:
        if one.kept == "read":
            continue
        steps = "".join(f"  {line}\n" if line else "\n" for line in plan_as_yaml(one.plan).splitlines())
        parts.append(f"# {one.reason}\n{one.tool}:\n{steps}")
    return "\n".join(parts) or "{}\n"


def _with_simulation(path: Path, learned: LearnedPlans) -> str:
    """The tools of the file with the learnt plans in `simulation`."""
    body: Any = read_json(path)
    listed = body.get("tools_schema", body.get("tools")) if isinstance(body, dict) else body
    plans = learned.plans()
    for tool in listed or ():
        name = tool.get("name") or tool.get("function", {}).get("name")
        if name in plans:
            tool["simulation"] = plans[name]
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


_bench: Workbench  # of this process


def _open_workbench(path: Path, tools: Path | None, options: Options) -> None:
    global _bench
    _bench = Workbench(*read_recorded_backend(path, tools), options)


def _learn_tool(name: str, end: float) -> LearnedTool:
    return _bench.learn_tool(name, lambda: time.monotonic() > end)


def _learn_in_processes(
    path: Path, tools: Path | None, options: Options, names: list[str]
) -> Iterator[LearnedTool]:
    """One tool after the other in as many processes as there are cores; progress goes to standard error."""
    end = time.monotonic() + options.budget_s
    workers = max(1, min(len(names), os.cpu_count() or 1))
    with ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=_open_workbench, initargs=(path, tools, options)
    ) as pool:
        futures = {pool.submit(_learn_tool, name, end): name for name in names}
        for number, future in enumerate(as_completed(futures), start=1):
            typer.echo(f"{number} of {len(names)}: {futures[future]}", err=True)
            yield future.result()


def _print_report(learned: LearnedPlans, path: Path) -> None:
    console = Console(highlight=False)
    table = Table("tool", "calls", "inferred", "searched", "model", "kept")
    for one in learned.tools:
        by_origin = {candidate.origin: candidate for candidate in one.candidates}
        shares = [_share(by_origin.get(origin)) for origin in _ORIGINS]
        kept = "inferred" if one.kept == "read" else one.kept
        table.add_row(one.tool, str(one.calls), *shares, kept + (" (time ended)" if one.is_cut_short else ""))
    console.print(table)
    console.print(
        "Shares are calls answered exactly right that the plan was not learnt from.", soft_wrap=True
    )
    for one in learned.tools:
        _print_unexplained(console, one)
    if learned.without_calls:
        console.print(f"\nWithout a recorded call: {', '.join(learned.without_calls)}.", soft_wrap=True)
    for sentence in learned.unseen:
        console.print(f"{sentence}.", markup=False, soft_wrap=True)


def _print_unexplained(console: Console, one: LearnedTool) -> None:
    if one.unexplained:
        console.print(f"\n[bold]{one.tool}[/]: not explained by the plan that is kept")
        for call in one.unexplained[:MOST_CALLS_SHOWN]:
            console.print(f"  task {call.task}, call {call.call}: {call.arguments}"[:200], markup=False)
    for group in one.contradictions[:MOST_CALLS_SHOWN]:
        places = ", ".join(f"task {call.task} call {call.call}" for call in group[:4])
        console.print(f"  answered differently in the same state: {places}", markup=False, soft_wrap=True)


def _share(candidate: Candidate | None) -> str:
    if candidate is None:
        return "–"
    return f"{candidate.right / candidate.calls:.0%}" if candidate.calls else "–"
