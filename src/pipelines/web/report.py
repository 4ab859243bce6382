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

from pipelines.core.cassette_masking import masked_response
from pipelines.core.evals.heatmap import MARKS, MEANINGS, Heatmap, heatmap_of
from pipelines.core.evals.report_text import read_report
from pipelines.core.json_text import loads_own
from pipelines.core.ledger import World
from pipelines.core.step_changes import StepChanges
from pipelines.web.assets import assets
from pipelines.web.render import render

EXPECTED = ("expected_outcome", "expected_state", "expected_calls", "tracked_constraints")
MOST_CELLS = 2_000  # of a heatmap that is drawn whole; the file of the matrix itself has more
LEFT_FOR_END = 4_000  # bytes


class _Written(NamedTuple):
    run_id: int
    part: bytes


def report_parts(data: bytes, *, secrets: Sequence[str], most_bytes: int) -> Iterator[bytes]:
    """Of the lines that `engine.report_batch` wrote."""
    lines = iter(data.split(b"\n"))
    head: Any = _masked(loads_own(next(lines)), secrets)
    matrix = next(lines)
    heatmap = _heatmap(matrix, secrets) if matrix else None
    listed: Any = _masked(loads_own(next(lines)), secrets)
    for run in listed:
        run["took_ms"] = _took_ms(run)
    frame = {"head": head, "heatmap": heatmap, "runs": listed, "bands": MEANINGS, "marks": MARKS}
    frame |= {"policy": policy(), "style": style()}
    opened = render("report_file.html", frame | {"inside": frozenset()}).encode()
    room = most_bytes - len(opened) - len(listed) * 20 - LEFT_FOR_END
    written = list(_fitting(_runs(lines, secrets), room))
    inside = frozenset(run.run_id for run in written)
    yield render("report_file.html", frame | {"inside": inside}).encode()
    yield from (run.part for run in written)
    total = head["batch"]["counts"]["total"]
    left_out = {"untraced": total - len(written), "unlisted": total - len(listed)}
    yield render("report_end.html", {"head": head, "left_out": left_out}).encode()


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


def _runs(lines: Iterator[bytes], secrets: Sequence[str]) -> Iterator[_Written]:
    worlds: dict[str, World] = {}
    for line in lines:
        if not line:
            continue
        body: Any = loads_own(line)
        if "state" in body:
            worlds[body["world"]] = World.from_initial_state(body["state"])
        else:
            yield _run(body, worlds, secrets)


def _run(body: Any, worlds: Mapping[str, World], secrets: Sequence[str]) -> _Written:
    world = worlds.get(body["world"]) if body["world"] is not None else World({})
    changes = StepChanges(world)
    for step in body["steps"]:
        step["changes"] = [
            {"kind": each.kind, "place": each.place}
            | ({"old": each.old} if each.had else {})
            | ({"new": each.new} if each.has else {})
            for each in changes.of(step["updates"] or ())
        ]
        del step["updates"]
    told: Any = _masked({name: body[name] for name in ("run", "seed", "steps", "is_whole")}, secrets)
    seed, run = told["seed"], told["run"]
    expected = {name: seed[name] for name in EXPECTED if seed.get(name) is not None}
    context = told | {"expected": expected, "took_ms": _took_ms(run), "judged": run["judgement"] or {}}
    return _Written(run["id"], render("report_run.html", context).encode())


def _heatmap(text: bytes, secrets: Sequence[str]) -> Heatmap | None:
    report: Any = _masked(read_report(text), secrets)
    heatmap = heatmap_of(report)
    return heatmap if len(heatmap.rows) * len(heatmap.columns) <= MOST_CELLS else None


def _masked(value: Any, secrets: Sequence[str]) -> Any:
    return masked_response(value, secrets)


def _took_ms(run: Mapping[str, Any]) -> float | None:
    began, ended = run["dispatched_at"] or run["started_at"], run["ended_at"]
    if not began or not ended:
        return None
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds() * 1000
