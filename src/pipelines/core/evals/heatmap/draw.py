"""Renders a heatmap or a comparison from reports as text, in a helper process.

Each text is one line, written by `dumps`, so it contains no line end.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pipelines.core.evals.heatmap.heatmap import Heatmap, InjectedText, heatmap_of
from pipelines.core.evals.heatmap.heatmap_csv import csv_parts
from pipelines.core.evals.heatmap.heatmap_html import Texts, html_parts
from pipelines.core.evals.heatmap.heatmap_svg import svg_parts
from pipelines.core.evals.matrix.compare_matrices import compare_reports, without_details
from pipelines.core.evals.matrix.report_text import read_report
from pipelines.core.text.json_text import JsonObject, dumps, loads_own

PART_BYTES = 256 * 1024


def texts_line(injected: Iterable[tuple[str, str, int, int, str, str]], bodies: Mapping[str, str]) -> bytes:
    """What was injected where: `(scenario, variation, wording, intensity, delivery, hash)`, and the texts."""
    return dumps({"injected": [list(each) for each in injected], "bodies": dict(bodies)}) + b"\n"


def draw_heatmap(data: bytes, format: str) -> Iterator[bytes]:
    """Of a line of texts and a line that is the report."""
    line_end = data.index(b"\n")
    heatmap = heatmap_of(read_report(data[line_end + 1 :]))
    yield from _in_parts(RENDERERS[format](heatmap, _texts(loads_own(data[:line_end]))))


def compare_reports_text(data: bytes) -> bytes:
    """Of two lines, a report each."""
    line_end = data.index(b"\n")
    before = read_report(data[:line_end], without_details)
    return dumps(compare_reports(before, read_report(data[line_end + 1 :], without_details)))


def _json(heatmap: Heatmap, texts: Texts) -> Iterator[bytes]:
    yield dumps(heatmap.as_json())


def _csv(heatmap: Heatmap, texts: Texts) -> Iterator[bytes]:
    yield from csv_parts(heatmap)


def _svg(heatmap: Heatmap, texts: Texts) -> Iterator[bytes]:
    yield from (part.encode() for part in svg_parts(heatmap))


def _html(heatmap: Heatmap, texts: Texts) -> Iterator[bytes]:
    yield from (part.encode() for part in html_parts(heatmap, texts))


RENDERERS: Mapping[str, Callable[[Heatmap, Texts], Iterator[bytes]]] = {
    "json": _json,
    "csv": _csv,
    "svg": _svg,
    "html": _html,
}


def _texts(told: Any) -> Texts:
    found: dict[tuple[str, str], list[InjectedText]] = {}
    bodies: JsonObject = told["bodies"]
    for scenario_id, variation, wording, intensity, delivery, text_hash in told["injected"]:
        if text_hash in bodies:
            text = InjectedText(
                text_hash=text_hash,
                wording=wording,
                intensity=intensity,
                delivery=delivery,
                text=str(bodies[text_hash]),
            )
            found.setdefault((scenario_id, variation), []).append(text)
    return found


def _in_parts(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces of a row each would be a message each between two processes."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= PART_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)
