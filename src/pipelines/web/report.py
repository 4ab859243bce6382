"""A batch as one HTML file that works from disk: the components and the style of the pages, no script,
nothing fetched. Written in a helper process, since masking and rendering megabytes take seconds.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from markupsafe import Markup

from pipelines.core.calls.cassette_masking import mask_response
from pipelines.core.evals.heatmap.heatmap import HeatCell, HeatColumn, Heatmap, HeatRow, heatmap_of
from pipelines.core.evals.heatmap.heatmap_table import band_cell, legend, table_head, table_row
from pipelines.core.evals.matrix.report_text import read_report
from pipelines.core.ledger.ledger import InvalidUpdate, Ledger, World, update_from_json
from pipelines.core.ledger.world_changes import world_changes
from pipelines.core.tasks.oracle_axes import ORACLE_AXES
from pipelines.core.text.json_text import Json, loads_own
from pipelines.web.assets import assets
from pipelines.web.heatmap import trusted_table
from pipelines.web.render import render

MOST_CELLS = 2_000  # of a heatmap that is drawn whole; the file of the matrix itself has more
LEFT_FOR_END = 4_000  # bytes


class _Written(NamedTuple):
    run_id: int
    part: bytes


class _FileLinks:
    """Links of the heatmap's table that lead to the traces of this file."""

    def __init__(self, inside: frozenset[int]) -> None:
        self._inside = inside

    def row(self, row: HeatRow) -> str | None:
        return None

    def baseline(self, number: int, row: HeatRow) -> str:
        reference = (row.detail.get("baseline") or {}).get("reference_run")  # type: ignore[union-attr]
        return self._first([reference]) or "#main"

    def cell(self, number: int, at: int, row: HeatRow, column: HeatColumn) -> str | None:
        run_ids = row.cells[at].detail.get("run_ids")
        return self._first(run_ids if isinstance(run_ids, list) else [])

    def drawn(self, place: str, cell: HeatCell, link: str | None, row: HeatRow, column: HeatColumn) -> str:
        return band_cell(place, cell, link, has_tip=True)

    def _first(self, run_ids: Sequence[Json]) -> str | None:
        return next((f"#run-{run_id}" for run_id in run_ids if run_id in self._inside), None)


def report_parts(data: bytes, *, secrets: Sequence[str], most_bytes: int) -> Iterator[bytes]:
    """Of the lines that `engine.report_batch` wrote."""
    lines = iter(data.split(b"\n"))
    head: Any = _masked(loads_own(next(lines)), secrets)
    matrix = next(lines)
    heatmap = _heatmap(matrix, secrets) if matrix else None
    listed: Any = _masked(loads_own(next(lines)), secrets)
    for run in listed:
        run["took_ms"] = _took_ms(run)
    frame = {"head": head, "heatmap": heatmap, "runs": listed, "policy": policy(), "style": style()}
    every = frozenset(run["id"] for run in listed)
    room = most_bytes - len(_opening(frame, heatmap, every)) - LEFT_FOR_END
    written = list(_fitting(_runs(lines, secrets, head["decisions"]), room))
    yield _opening(frame, heatmap, frozenset(run.run_id for run in written))
    yield from (run.part for run in written)
    total = head["batch"]["counts"]["total"]
    left_out = {
        "untraced": total - len(written),
        "unlisted": total - len(listed),
        "heatmap": bool(matrix) and heatmap is None,
    }
    yield render("report_end.html", {"head": head, "left_out": left_out}).encode()


def _opening(frame: Mapping[str, Any], heatmap: Heatmap | None, inside: frozenset[int]) -> bytes:
    """All that stands before the traces; it leads to those that are inside."""
    drawn = None
    if heatmap is not None:
        links = _FileLinks(inside)
        rows = (table_row(number, row, heatmap.columns, links) for number, row in enumerate(heatmap.rows))
        table = trusted_table(f"{table_head(heatmap)}<tbody>{''.join(rows)}</tbody></table>")
        drawn = {"table": table, "legend": trusted_table(legend(heatmap))}
    return render("report_file.html", {**frame, "drawn": drawn, "inside": inside}).encode()


@cache
def style() -> Markup:
    """The style sheet of the pages, inside the file."""
    return Markup(f"<style>{_css()}</style>")


@cache
def policy() -> str:
    """Even if a text of a stranger were read as markup, nothing of it could run, load or send."""
    hashed = base64.b64encode(hashlib.sha256(_css().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'"


def _css() -> str:
    return assets()["app.css"].content.decode()


def _fitting(runs: Iterator[_Written], room: int) -> Iterator[_Written]:
    """In their order; one that is too large is left out, and those behind it may still fit."""
    for run in runs:
        if len(run.part) <= room:
            room -= len(run.part)
            yield run


def _runs(
    lines: Iterator[bytes], secrets: Sequence[str], decisions: Sequence[Mapping[str, Any]]
) -> Iterator[_Written]:
    worlds: dict[str, World] = {}
    of_runs: dict[int, list[Mapping[str, Any]]] = {}
    for decision in decisions:
        of_runs.setdefault(decision["run_id"], []).append(decision)
    for line in lines:
        if not line:
            continue
        body: Any = loads_own(line)
        if "state" in body:
            worlds[body["world"]] = World.from_initial_state(body["state"])
        else:
            yield _run(body, worlds, secrets, of_runs.get(body["run"]["id"], []))


def _run(
    body: Any,
    worlds: Mapping[str, World],
    secrets: Sequence[str],
    decisions: Sequence[Mapping[str, Any]],
) -> _Written:
    world = worlds.get(body["world"]) if body["world"] is not None else World({})
    _tell_changes(Ledger(world) if world is not None else None, body["steps"])
    masked: Any = _masked(
        {name: body[name] for name in ("run", "annotations", "seed", "steps", "is_whole")}, secrets
    )
    seed, run = masked["seed"], masked["run"]
    expected = {name: seed[name] for name in ORACLE_AXES if seed.get(name) is not None}
    context = masked | {"expected": expected, "took_ms": _took_ms(run), "judged": run["judgement"] or {}}
    context |= {"decisions": decisions}
    return _Written(run["id"], render("report_run.html", context).encode())


def _tell_changes(ledger: Ledger | None, steps: Sequence[Any]) -> None:
    """Old values before new; where the world is not known, or the log does not fit it, the updates as they
    are."""
    for step in steps:
        step["changes"] = []
        if ledger is None:
            continue
        try:
            updates = [update_from_json(each) for each in step["updates"]]
            step["changes"] = [each.as_json() for each in world_changes(ledger, updates)]
            ledger.apply(updates)
            step["updates"] = []
        except InvalidUpdate:
            ledger = None


def _heatmap(text: bytes, secrets: Sequence[str]) -> Heatmap | None:
    report: Any = _masked(read_report(text), secrets)
    heatmap = heatmap_of(report)
    return heatmap if len(heatmap.rows) * len(heatmap.columns) <= MOST_CELLS else None


def _masked(value: Any, secrets: Sequence[str]) -> Any:
    return mask_response(value, secrets)


def _took_ms(run: Mapping[str, Any]) -> float | None:
    began, ended = run["dispatched_at"] or run["started_at"], run["ended_at"]
    if not began or not ended:
        return None
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds() * 1000
