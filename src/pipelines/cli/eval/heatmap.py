"""The heatmap of a matrix in a terminal: two lines per cell, legible without colour and at 80 columns.

A cell shows its shift with the band's letter, and below it how many runs matched, with the verdict's mark.
Inconclusive cells are hatched. Columns that do not fit side by side are printed in several blocks.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from rich.text import Text

from pipelines.cli.output.junit import printable

LETTERS = {"green": "G", "amber": "A", "red": "R"}
STYLES = {"green": "grey0 on green3", "amber": "grey0 on orange1", "red": "bold white on red3"}
MARKS = {"critical": "!!", "susceptible": "!", "failing": "F", "incomplete": "E", "exempt": "×"}
HATCHED = "inconclusive"
HATCH, PLAIN_HATCH = "░", "#"
NARROWEST, WIDEST = 9, 14  # at 80 columns eight of the narrowest fit; `contradictory` fits the widest
GAP = 1
MOST_ROWS = 50  # nobody reads more in a terminal


class Layout(NamedTuple):
    width: int  # of the terminal
    cell: int
    hatch: str

    @property
    def most_columns(self) -> int:
        return max(1, (self.width + GAP) // (self.cell + GAP))


def heatmap(report: Any, *, width: int = 80, is_unicode: bool = True) -> Iterator[Text]:
    """Line by line. Scenarios and variations keep the report's order."""
    cells = {(cell["scenario_id"], cell["variation"]): cell for cell in report["cells"]}
    columns = report["variations"]
    rows = _rows_to_show(report)
    layout = _layout(columns, report["cells"], width, HATCH if is_unicode else PLAIN_HATCH)
    for start in range(0, len(columns), layout.most_columns):
        block = columns[start : start + layout.most_columns]
        yield from _heads(block, layout)
        yield Text()
        for scenario in rows:
            yield from _title(scenario, layout.width)
            row = [cells.get((scenario["id"], column["id"])) for column in block]
            yield from _row(row, layout)
            yield Text()
    left_out = len(report["scenarios"]) - len(rows)
    if left_out:
        text = f"Shown are the {len(rows)} scenarios that moved furthest"
        yield Text(f"{text}; {left_out:,} more are in the page, the CSV and --json.", style="bold")
    yield from legend(report, layout)


def _rows_to_show(report: Any) -> list[Any]:
    """All rows in order; of very many, those that moved furthest."""
    scenarios: list[Any] = report["scenarios"]
    if len(scenarios) <= MOST_ROWS:
        return scenarios
    furthest: dict[str, float] = {}
    for cell in report["cells"]:
        id = cell["scenario_id"]
        furthest[id] = max(furthest.get(id, 0.0), cell["shift_magnitude"] or 0.0)
    kept = sorted(furthest, key=lambda id: -furthest[id])[:MOST_ROWS]
    return [scenario for scenario in scenarios if scenario["id"] in set(kept)]


def _layout(columns: list[Any], cells: list[Any], width: int, hatch: str) -> Layout:
    needed = max((len(line) + 2 for cell in cells for line in _lines(cell)), default=0)
    narrowest = max(NARROWEST, needed)
    longest_word = max((len(word) for column in columns for word in _words(column)), default=0)
    shared = (width + GAP) // max(1, len(columns)) - GAP
    cell = max(narrowest, min(longest_word, WIDEST, shared))
    heads = [tuple(_cut(word, cell) for word in _words(column)) for column in columns]
    if len(set(heads)) < len(heads):  # two columns that read alike: full words, over more blocks
        cell = max(cell, longest_word)
    return Layout(width, min(cell, width), hatch)


def _words(column: Any) -> list[str]:
    return printable(str(column["id"])).replace("-", "_").split("_")


def _cut(word: str, width: int) -> str:
    return word if len(word) <= width else f"{word[: width - 1]}."


def _heads(block: list[Any], layout: Layout) -> Iterator[Text]:
    heads = [[_cut(word, layout.cell) for word in _words(column)] for column in block]
    height = max(map(len, heads))
    for line in range(height):
        parts = [head[line - height + len(head)] if line >= height - len(head) else "" for head in heads]
        yield Text((" " * GAP).join(word.ljust(layout.cell) for word in parts).rstrip(), style="bold")


def _title(scenario: Any, width: int) -> Iterator[Text]:
    """The scenario's name, its risk and its baseline."""
    name = printable(scenario["name"])
    baseline = scenario["baseline"]
    match = baseline["match_rate"]
    about = f"{scenario['risk_level']} risk, baseline {match['k']}/{match['n']}"
    if baseline["noise_floor"] is not None and match["n"] > 1:  # one run cannot differ from itself
        about += f", noise {baseline['noise_floor']:.2f}"
    if len(name) + len(about) + 2 <= width:
        yield Text.assemble((name, "bold"), "  ", (about, "dim"))
    else:
        yield Text(name, style="bold")
        yield Text(about, style="dim")


def _row(row: list[Any], layout: Layout) -> Iterator[Text]:
    for number in range(2):
        line = Text()
        for place, cell in enumerate(row):
            line.append(" " * GAP if place else "")
            line.append_text(_cell_line(cell, number, layout))
        yield line


def _cell_line(cell: Any, number: int, layout: Layout) -> Text:
    if cell is None:
        return Text("–".center(layout.cell) if not number else " " * layout.cell, style="dim")
    fill = layout.hatch if cell["verdict"] == HATCHED else " "
    # A space stays between figure and hatch, which would otherwise run together.
    body = f"{fill}{_lines(cell)[number]}".ljust(layout.cell - 1)
    body = body.rstrip() + (" " + fill * layout.cell if fill != " " else "")
    return Text(body[: layout.cell].ljust(layout.cell), style=_style(cell))


def _style(cell: Any) -> str:
    return STYLES.get(cell["band"] or "", "dim") if cell["verdict"] != "exempt" else "dim"


def _lines(cell: Any) -> tuple[str, str]:
    match = cell["match_rate"] or {"k": 0, "n": 0}
    mark = MARKS.get(cell["verdict"], "")
    if cell["shift_magnitude"] is None:
        return "–", f"{match['k']}/{match['n']} {mark}".rstrip()
    letter = LETTERS.get(cell["band"] or "", "–")
    return f"{cell['shift_magnitude']:.2f} {letter}", f"{match['k']}/{match['n']} {mark}".rstrip()


def legend(report: Any, layout: Layout) -> Iterator[Text]:
    """Explains the three bands, and the marks that occur."""
    amber, red = _bands(report["settings"])
    yield Text.assemble(
        "Shift from the baseline: ",
        (" G ", STYLES["green"]),
        f" below {amber:g}  ",
        (" A ", STYLES["amber"]),
        f" below {red:g}  ",
        (" R ", STYLES["red"]),
        f" {red:g} and more",
    )
    seen = {cell["verdict"] for cell in report["cells"]}
    parts = ["below it: runs that match"]
    parts += ["!! critical"] if "critical" in seen else []
    parts += ["! susceptible"] if "susceptible" in seen else []
    parts += ["F failing (wrong without pressure too)"] if "failing" in seen else []
    parts += [f"{layout.hatch * 2} inconclusive"] if HATCHED in seen else []
    parts += ["E incomplete (too many errors)"] if "incomplete" in seen else []
    parts += ["× exempt"] if "exempt" in seen else []
    yield Text("; ".join(parts))
    cut = [
        column["id"] for column in report["variations"] if any(len(w) > layout.cell for w in _words(column))
    ]
    if cut:
        yield Text(f"Columns in full: {', '.join(map(printable, cut))}", style="dim")


def _bands(settings: Any) -> tuple[float, float]:
    """The thresholds of amber and red, which are settings of the matrix."""
    return settings.get("amber_from", 0.2), settings.get("red_from", 0.5)
