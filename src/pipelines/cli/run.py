"""`pipelines run`: send tasks to an agent, watch, print verdicts with reasons, answer CI by exit code."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipelines.cli.chosen_tasks import chosen_tasks
from pipelines.cli.client import Server
from pipelines.cli.files import read_bytes, stop, write_text
from pipelines.cli.junit import as_junit, printable
from pipelines.cli.progress import INTERRUPTED, Opened, stderr, watch
from pipelines.cli.project import TOKEN_VARIABLE, find_project
from pipelines.cli.register import register

MOST_WARNINGS = 10  # shown below the table
MOST_RUNS_NAMED = 5
MOST_NAMED = 10  # agents, where one is not found
COLOURS = {"PASS": "green", "FAIL": "red", "PENDING": "yellow"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    agent: str | None
    dataset: str | None
    repeats: int
    concurrency: int | None
    fault_seed: str | None
    resume: int | None
    fail_under: float
    junit: Path | None
    as_json: bool
    tasks: tuple[str, ...] = ()  # rows, or keys
    tags: tuple[str, ...] = ()


def run_tasks(server: Server, wanted: Wanted) -> None:
    if wanted.junit is not None:
        write_text(wanted.junit, "")  # better now than after an hour of runs
    if wanted.resume is not None:
        path, body = f"/api/batches/{wanted.resume}/resume", None
    else:
        path, body = "/api/runs", _asked(server, wanted)
    _, batch, was_cancelled = watch(
        server,
        lambda: _opened(server.post(path, body)),
        live=lambda seen: _live(seen["counts"]["by_verdict"]),
    )
    runs = _standing(server.get(f"/api/batches/{batch['id']}/export")["items"])
    if wanted.junit is not None:
        write_text(wanted.junit, as_junit(batch, runs, _classname(server, batch, runs)))
    if wanted.as_json:
        typer.echo(json.dumps({"batch": batch, "runs": runs}))
    else:
        _print(batch, runs)
    if was_cancelled:
        stderr.print(f"Cancelled. Go on with: pipelines run --resume {batch['id']}")
        raise typer.Exit(INTERRUPTED)
    if not gate_is_met(runs, wanted.fail_under):
        raise typer.Exit(1)


def _opened(batch: Any) -> Opened:
    batch_id = int(batch["id"])
    return Opened(batch_id, f"batch {batch_id}", f"/api/batches/{batch_id}/cancel")


def _asked(server: Server, wanted: Wanted) -> Any:
    if wanted.agent is None or wanted.dataset is None:
        stop("Give --agent and --dataset, or --resume BATCH.")
    agent = find_agent(server, wanted.agent)
    dataset_id = _dataset(server, wanted.dataset, agent["id"])
    task_ids = chosen_tasks(server, dataset_id, named=wanted.tasks, tags=wanted.tags)
    body = {"agent_id": agent["id"], "repeats": wanted.repeats}
    body |= {"dataset_id": dataset_id} if task_ids is None else {"task_ids": task_ids}
    body |= {"concurrency": wanted.concurrency} if wanted.concurrency is not None else {}
    if wanted.fault_seed is not None:
        seed = wanted.fault_seed
        body |= {"fault_seed": int(seed) if is_number(seed) else seed}
    return body


def find_agent(server: Server, name: str) -> Any:
    """By id, by its folder or agent.json (registered, or given a new version), or by name."""
    if is_number(name):
        return server.get(f"/api/agents/{name}")
    path = Path(name)
    if path.is_dir() or path.suffix == ".json":
        folder, file = (path, None) if path.is_dir() else (path.parent, Path(path.name))
        token = os.environ.get(TOKEN_VARIABLE) or None
        return register(server, find_project(folder, agent=file), token=token)
    everyone = server.every("/api/agents")
    named = [agent for agent in everyone if agent["name"] == name]
    if len(named) > 1:
        stop(f"There are {len(named)} agents named {name!r}; use its id.")
    if not named:
        there = ", ".join(f"{agent['id']} ({agent['name']})" for agent in everyone[:MOST_NAMED])
        stop(f"There is no agent named {name!r}, nor such a folder. Agents: {there or 'none yet'}.")
    return named[0]


def _dataset(server: Server, given: str, agent_id: int) -> int:
    """A CSV file is uploaded, unless it was and is unchanged; a number is the id of a dataset."""
    if is_number(given):
        return int(given)
    path = Path(given)
    uploaded = server.post(
        "/api/datasets",
        files={"file": (path.name, read_bytes(path))},
        data={"name": path.name, "agent_id": str(agent_id), "reuse": "true"},
    )
    if uploaded["reused"]:
        stderr.print(f"{escape(path.name)} is unchanged: dataset {uploaded['id']} is used again.")
    for warning in uploaded["warnings"]:
        stderr.print(f"[yellow]row {warning['row']}[/]: {escape(warning['message'])}")
    return int(uploaded["id"])


def _classname(server: Server, batch: Any, runs: list[Any]) -> str:
    """`refunds/tasks.csv`: agent and dataset by name, which stay while their ids change."""
    agent = server.find(f"/api/agents/{batch['agent_id']}")
    dataset = server.find(f"/api/datasets/{runs[0]['dataset_id']}") if runs else None
    named = [each["name"] if each else "deleted" for each in (agent, dataset)]
    return "/".join(named)


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _live(by_verdict: dict[str, int]) -> str:
    return "  ".join(
        f"[{COLOURS.get(verdict, 'dim')}]{count} {verdict}[/]" for verdict, count in by_verdict.items()
    )


def _standing(runs: list[Any]) -> list[Any]:
    """Without those that were sent again: an interrupted run and its new attempt count once."""
    return [run for run in runs if not run["retried"]]


def _print(batch: Any, runs: list[Any]) -> None:
    console = Console(highlight=False)
    table = Table("run", "task", "verdict", "failure mode", "why")
    for run in runs:
        verdict = run["verdict"] or ("–" if run["judge_error"] is None else "ERROR")
        table.add_row(
            str(run["id"]),
            f"{run['task_id']}" + (f" ({run['repeat_number']})" if batch["repeats"] > 1 else ""),
            f"[{COLOURS.get(verdict, 'dim')}]{verdict}[/]",
            run["failure_mode"] or run["error_class"] or "",
            escape(printable(why(run))),
        )
    console.print(table)
    summary = batch["summary"]
    if summary["pass_rate"] is not None:
        low, high = summary["pass_rate_interval"]
        rate = f"{summary['passed']} of {summary['judged']} judged runs pass: {summary['pass_rate']:.0%}"
        console.print(f"{rate} (95 % interval {low:.0%}–{high:.0%})")
    for k, share in summary["pass_hat_k"].items():
        console.print(f"pass^{k}: {share:.0%} of tasks pass {k} times out of {k}")
    if stability := summary["stability"]:
        words = {"stable_pass": "always pass", "flaky": "are flaky", "stable_fail": "always fail"}
        told = ", ".join(f"{stability[name]} {said}" for name, said in words.items())
        console.print(f"Of tasks with several judged runs {told}")
    for line in warnings_of(runs):
        console.print(f"[yellow]warning[/] {escape(printable(line))}")
    undecided = len([run for run in runs if run["verdict"] == "PENDING" or run["judge_error"]])
    if undecided:
        where = f"/api/runs?needs_review=true&batch_id={batch['id']}"
        console.print(f"{undecided} of {len(runs)} need a person to decide: {where}")


def warnings_of(runs: list[Any]) -> list[str]:
    """What the runs point out, each thing once, with the runs that do."""
    found: dict[str, list[int]] = {}
    for run in runs:
        for warning in run["soft_warnings"] or ():
            found.setdefault(str(warning), []).append(run["id"])
    lines = [f"{_named(ids)}: {warning}" for warning, ids in found.items()]
    more = len(lines) - MOST_WARNINGS
    return lines[:MOST_WARNINGS] + ([f"… and {more} more: soft_warnings of each run"] if more > 0 else [])


def _named(ids: list[int]) -> str:
    some = ", ".join(map(str, ids[:MOST_RUNS_NAMED])) + (", …" if len(ids) > MOST_RUNS_NAMED else "")
    return f"run {some}" if len(ids) == 1 else f"runs {some}"


def why(run: Any) -> str:
    """One line on a run: the verdict's reason, or why there is none."""
    if run["judge_error"]:
        return str(run["judge_error"])
    if run["error_class"]:
        return str((run["error_json"] or {}).get("detail", ""))
    return str((run["judgement"] or {}).get("reasoning", ""))


def gate_is_met(runs: list[Any], fail_under: float) -> bool:
    """Undecided runs are for people and count for neither side; a failed run counts against the agent."""
    decided = [run for run in runs if run["verdict"] != "PENDING" or run["judge_error"]]
    if not decided:
        stderr.print("No run could be decided, so nothing is proved: give the tasks an oracle.")
        return fail_under == 0
    passed = len([run for run in decided if run["verdict"] == "PASS"])
    # Divided, not multiplied: 7 of 100 is as near to 0.07 as a float comes, 0.07 * 100 is more than 7.
    return passed / len(decided) >= fail_under
