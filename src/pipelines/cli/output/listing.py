"""`pipelines eval list`: scenarios, matrices, runs and variations as short tables."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from pipelines.cli.client import Server
from pipelines.cli.files import stop
from pipelines.cli.options import Answer
from pipelines.cli.output.junit import printable

UNKNOWN = "–"


class _Kind(NamedTuple):
    path: str
    columns: tuple[str, ...]
    row: Callable[[Any], tuple[str, ...]]


def show_list(server: Server, what: str, *, filters: dict[str, str | None], limit: int) -> Answer:
    kind = KINDS[what]
    given = [name for name, value in filters.items() if value is not None]
    if given and what != "runs":
        stop(f"These options filter runs, not {what}: pipelines eval list runs …")
    items = first_items(server, kind.path, limit, **filters)
    empty = f"There are no such {what}." if given else f"There are no {what} yet."

    def show(items: list[Any]) -> None:
        if what == "runs" and items:
            names = {known["id"]: known["name"] for known in server.every(KINDS["scenarios"].path)}
            items = [item | {"scenario_name": names.get(item["scenario_id"])} for item in items]
        print_rows(kind.columns, [kind.row(item) for item in items], empty=empty)

    return Answer(items, show)


def first_items(server: Server, path: str, limit: int, **query: Any) -> list[Any]:
    items: list[Any] = server.get(path, limit=limit, **query)["items"]
    return items[:limit]


def print_rows(columns: Sequence[str], rows: list[tuple[str, ...]], *, empty: str) -> None:
    """Print a table. If the last, longest column does not fit, it goes on the next line."""
    if not rows:
        typer.echo(empty)
        return
    console = Console(highlight=False, soft_wrap=True)
    printable_rows = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *printable_rows, strict=True)]
    fits = sum(widths) + 2 * (len(widths) - 1) <= console.width
    for number, (*heads, last) in enumerate([tuple(columns), *printable_rows]):
        line = "  ".join(head.ljust(width) for head, width in zip(heads, widths, strict=False))
        text = f"{line}  {last}" if fits else f"{line.rstrip()}\n  {last}"
        console.print(Text(text, style="bold" if number == 0 else ""))


def _scenario(item: Any) -> tuple[str, ...]:
    tags = ", ".join(item.get("tags") or ())
    return item["id"], str(item["version"]), item["risk_level"], item["name"] + (f" ({tags})" if tags else "")


def _matrix(item: Any) -> tuple[str, ...]:
    shape = f"{item['scenarios']} × {len(item['variations'])} × {item['repeats']}"
    agent = f"{item['agent_id']} v{item['agent_version']}"
    return item["id"], item["status"], shape, agent, str(item["created_at"])[:19]


def _run(item: Any) -> tuple[str, ...]:
    matched = item.get("matched")
    text = UNKNOWN if matched is None else "yes" if matched else "no"
    shift = item.get("shift")
    figures = (
        text,
        UNKNOWN if shift is None else f"{shift:.2f}" + (" flagged" if item["is_flagged"] else ""),
    )
    place = f"{item.get('scenario_name') or item['scenario_id']} × {item['variation'] or 'baseline'}"
    return str(item["id"]), item["status"], *figures, place


def _variation(item: Any) -> tuple[str, ...]:
    whose = "built in" if item.get("is_builtin") else "own"
    return item["id"], str(item["version"]), whose, item["tests"]


KINDS = {
    "scenarios": _Kind("/api/v1/eval/scenarios", ("id", "version", "risk", "name"), _scenario),
    "matrices": _Kind("/api/v1/eval/matrix", ("id", "status", "size", "agent", "created"), _matrix),
    "runs": _Kind("/api/v1/eval/runs", ("run", "status", "match", "shift", "of"), _run),
    "variations": _Kind("/api/v1/eval/variations", ("id", "version", "whose", "tests"), _variation),
}
