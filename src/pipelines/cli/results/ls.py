"""`pipelines ls`: runs, batches, agents and datasets as rows that stack where they do not fit."""

from dataclasses import dataclass
from typing import Any

import typer

from pipelines.cli.client import Server
from pipelines.cli.files import is_number, stop
from pipelines.cli.options import Answer
from pipelines.cli.output.batch_report import build_text, label_of, print_run, rank_of
from pipelines.cli.output.blocks import new_console, one_line, print_block
from pipelines.cli.output.listing import first_items, print_rows
from pipelines.cli.output.phrases import plural
from pipelines.cli.output.verdict_text import pending_reasons

LONGEST = 160  # characters of an instruction or a description


@dataclass(frozen=True, kw_only=True, slots=True)
class ListFilters:
    batch: int | None
    status: str | None
    verdict: str | None
    pending_reason: str | None
    unverified: bool  # only runs with statements that were not verified
    label: str | None
    commented: bool
    agent: str | None  # id or name
    limit: int


def show_list(server: Server, what: str, filters: ListFilters) -> Answer:
    _check_filters(what, filters)
    if what == "runs":
        return _list_runs(server, filters)
    agent_id = _agent_id(server, filters.agent)
    query = {"agent_id": agent_id} if what != "agents" else {}

    def show(items: list[Any]) -> None:
        if what == "batches":
            items = [item | server.get(f"/api/batches/{item['id']}") for item in items]
        columns, row = _KINDS[what]
        print_rows(columns, [row(item) for item in items], empty=f"There are no {what} yet.")

    return Answer(first_items(server, f"/api/{what}", filters.limit, **query), show)


def _check_filters(what: str, filters: ListFilters) -> None:
    for option, value in (
        ("--batch", filters.batch),
        ("--status", filters.status),
        ("--verdict", filters.verdict),
        ("--pending-reason", filters.pending_reason),
        ("--unverified", filters.unverified or None),
        ("--label", filters.label),
        ("--commented", filters.commented or None),
    ):
        if value is not None and what != "runs":
            stop(f"{option} filters runs, not {what}.")
    if filters.agent is not None and what == "agents":
        stop("--agent filters runs, batches and datasets, not agents.")


def _agent_id(server: Server, given: str | None) -> int | None:
    if given is None or is_number(given):
        return int(given) if given else None
    named = [agent["id"] for agent in server.every("/api/agents") if agent["name"] == given]
    if len(named) != 1:
        stop(f"There are {len(named)} agents named {given!r}; use its id: pipelines ls agents")
    return int(named[0])


def _list_runs(server: Server, filters: ListFilters) -> Answer:
    verdict = filters.verdict.upper() if filters.verdict else None
    query = {"batch_id": filters.batch, "status": filters.status, "verdict": verdict}
    query |= {"pending_reason": filters.pending_reason, "agent_id": _agent_id(server, filters.agent)}
    query |= {"has_unverified": "true"} if filters.unverified else {}
    query |= {"run_label": filters.label} if filters.label is not None else {}
    query |= {"has_comments": "true"} if filters.commented else {}
    if filters.batch is None:
        found = first_items(server, "/api/runs", filters.limit, **query)
        items, total = found, None
    else:
        every = sorted((r for r in server.every("/api/runs", **query) if not r["retried"]), key=rank_of)
        items, total = every[: filters.limit], len(every)
    empty = "There are no such runs." if any(query.values()) else "There are no runs yet."
    return Answer(items, lambda items: _print_runs(items, total, empty))


def _print_runs(items: list[Any], total: int | None, empty: str) -> None:
    if not items:
        typer.echo(empty)
        return
    console = new_console()
    for run in items:
        print_run(console, run, repeated=run["repeat_number"] > 1)
    if total is not None and total > len(items):
        rest = f"… {len(items):,} of {plural(total, 'run')}: --limit, --verdict and --status show others"
        print_block(console, "", rest, indent=0)
    counts: dict[str, int] = {}
    for run in items:
        counts[label_of(run)] = counts.get(label_of(run), 0) + 1
    text = ", ".join(f"{count} {label}{_format_reasons(items, label)}" for label, count in counts.items())
    noted = len([run for run in items if run.get("unverified")])
    text += f"; {noted} with statements that were not verified" if noted else ""
    print_block(console, "", f"{plural(len(items), 'run')}: {text}", indent=0, rest="dim")


def _format_reasons(items: list[Any], label: str) -> str:
    """` (no_oracle 2, not_checked 1)`, to append to PENDING."""
    counts = pending_reasons(run for run in items if label_of(run) == label)
    return f" ({', '.join(f'{reason} {count}' for reason, count in counts.items())})" if counts else ""


def _batch(item: Any) -> tuple[str, ...]:
    dataset = "some tasks" if item["dataset_id"] is None else f"dataset {item['dataset_id']}"
    agent = f"agent {item['agent_id']} v{item['agent_version']}{build_text(item)}"
    counts = item["counts"]
    passed = f"{counts['by_verdict'].get('PASS', 0)}/{counts['total']}"
    repeats = f"× {item['repeats']}"
    return str(item["id"]), item["status"], passed, agent, dataset, repeats, str(item["created_at"])[:19]


def _agent(item: Any) -> tuple[str, ...]:
    about = f"{item['name']}: {one_line(item.get('description'), LONGEST)}".removesuffix(": ")
    mode = item.get("mode") or "http"
    return str(item["id"]), f"v{item['version']}", item["status"], mode, about


def _dataset(item: Any) -> tuple[str, ...]:
    agent = f"agent {item['agent_id']}" if item["agent_id"] is not None else "any agent"
    return (
        str(item["id"]),
        plural(item["task_count"], "task"),
        agent,
        str(item["created_at"])[:19],
        item["name"],
    )


_KINDS: dict[str, tuple[tuple[str, ...], Any]] = {
    "batches": (("batch", "status", "passed", "agent", "tasks", "repeats", "created"), _batch),
    "agents": (("agent", "version", "status", "mode", "name"), _agent),
    "datasets": (("dataset", "size", "for", "created", "name"), _dataset),
}
