"""The findings of a matrix in words: the worst first, then undecided and unmeasured cells."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.cli.eval.gate import never_matching_baselines
from pipelines.cli.output import phrases
from pipelines.cli.output.junit import printable

LABEL_STYLES = {
    "CRITICAL": "bold white on red3",
    "SUSCEPTIBLE": "bold red",
    "FAILING": "bold red",
    "BASELINE": "bold red",
    "ERROR": "bold red",
    "WARNING": "bold yellow",
    "INCOMPLETE": "bold yellow",
    "INCONCLUSIVE": "yellow",
    "PLACEBO": "yellow",
}
LABEL_WIDTH = 12
MOST_SHOWN = 20  # of one kind: a matrix of thousands is read in its HTML or JSON
MOST_RUNS = 3
PLACEBO_ALPHA = 0.05


def print_findings(console: Console, report: Any, *, failed: Sequence[list[str]] = ()) -> None:
    """Prints a line even if nothing was found. `failed` says why runs ended with an error."""
    warnings = [("WARNING", [str(each)]) for each in report.get("warnings") or ()]
    found = [("ERROR", lines) for lines in failed] + list(_findings(report))
    if not found:
        console.print("No cell is critical, susceptible, failing, inconclusive or incomplete.")
    for label, lines in warnings + found:
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(width=LABEL_WIDTH)
        table.add_column(overflow="fold")
        for number, line in enumerate(lines):
            head = Text(label, LABEL_STYLES.get(label, "")) if number == 0 else Text()
            table.add_row(head, Text(line, "bold" if number == 0 else ""))
        console.print(table)


def _findings(report: Any) -> Iterator[tuple[str, list[str]]]:
    names = {scenario["id"]: scenario for scenario in report["scenarios"]}
    for scenario in _first_of(never_matching_baselines(report)):
        yield "BASELINE", _baseline_lines(scenario)
    for verdict in ("critical", "susceptible"):
        cells = [cell for cell in report["cells"] if cell["verdict"] == verdict]
        cells.sort(key=lambda cell: -(cell["shift_magnitude"] or 0))
        for cell in _first_of(cells):
            yield verdict.upper(), _cell_lines(cell, names[cell["scenario_id"]])
        yield from _more_of(cells, verdict)
    yield from _failing(report, names)
    yield from _undecided(report, names)
    incomplete = [cell for cell in report["cells"] if cell["verdict"] == "incomplete"]
    for cell in _first_of(incomplete):
        yield "INCOMPLETE", [cell_name(cell, names[cell["scenario_id"]]), _errors(cell)]
    yield from _more_of(incomplete, "incomplete")
    yield from _placebos(report)


def _first_of(items: list[Any]) -> list[Any]:
    return items[:MOST_SHOWN]


def _more_of(cells: list[Any], verdict: str) -> Iterator[tuple[str, list[str]]]:
    if len(cells) > MOST_SHOWN:
        yield verdict.upper(), [f"and {len(cells) - MOST_SHOWN} more: see the heatmap as HTML, or --json"]


def cell_name(cell: Any, scenario: Any) -> str:
    return f"{printable(scenario['name'])} × {printable(cell['variation'])}"


def _baseline_lines(scenario: Any) -> list[str]:
    baseline = scenario["baseline"]
    if not baseline["match_rate"]["n"]:
        return [printable(scenario["name"]), _no_baseline_answer(baseline["errors"])]
    return [
        printable(scenario["name"]),
        f"{phrases.rate(baseline['match_rate'])} without any pressure: "
        "correct the agent or expected_behavior",
    ]


def _no_baseline_answer(errors: int) -> str:
    """The line for a baseline without any answer."""
    return f"no run without pressure gave an answer ({phrases.plural(errors, 'error')})"


def _cell_lines(cell: Any, scenario: Any) -> list[str]:
    baseline = scenario["baseline"]["match_rate"]
    match = f"{phrases.short_rate(cell['match_rate'])}, baseline {baseline['k']}/{baseline['n']}{_runs(cell)}"
    noise = "" if cell["noise_floor"] is None else f", noise {cell['noise_floor']:.2f}"
    p = "" if cell["p_adjusted"] is None else f", p {cell['p_adjusted']:.2g}"
    moved = phrases.moved(cell["components"])
    lines = [cell_name(cell, scenario), moved, match, f"{phrases.shift(cell)}{noise}{p}{_cell_remarks(cell)}"]
    return [line for line in lines if line]


def _failing(report: Any, names: Any) -> Iterator[tuple[str, list[str]]]:
    """One finding for each scenario, because its failing cells say the same."""
    cells: dict[str, list[Any]] = {}
    for cell in report["cells"]:
        if cell["verdict"] == "failing":
            cells.setdefault(cell["scenario_id"], []).append(cell)
    for id, wrong in _first_of(list(cells.items())):
        baseline = names[id]["baseline"]["match_rate"]
        k, n = (sum(cell["match_rate"][name] for cell in wrong) for name in ("k", "n"))
        columns = ", ".join(printable(cell["variation"]) for cell in wrong)
        figures = f"{k}/{n} match under pressure, baseline {baseline['k']}/{baseline['n']}"
        yield "FAILING", [f"{printable(names[id]['name'])} × {columns}", f"{figures}: wrong with and without"]
    yield from _more_of(list(cells), "failing")


def _cell_remarks(cell: Any) -> str:
    """Remarks on the direction of the shift; a regression needs none."""
    text = [] if cell["direction"] in (None, "none", "regressive") else [cell["direction"]]
    if cell["toward_pressure"] is not None:
        text.append("toward the pressure" if cell["toward_pressure"] else "not toward the pressure")
    text += ["in the review queue"] if cell["is_flagged"] else []
    return "".join(f"; {each}" for each in text)


def _runs(cell: Any) -> str:
    ids, more = cell["run_ids"][:MOST_RUNS], len(cell["run_ids"]) > MOST_RUNS
    word = "run" if len(ids) == 1 else "runs"
    return f"; {word} {', '.join(map(str, ids))}{', …' if more else ''}" if ids else ""


def _undecided(report: Any, names: Any) -> Iterator[tuple[str, list[str]]]:
    """Cells that moved are listed one by one; cells that did not move share one line."""
    cells = [cell for cell in report["cells"] if cell["verdict"] == "inconclusive"]
    cells.sort(key=lambda cell: -(cell["shift_magnitude"] or 0))
    moving = [cell for cell in cells if cell["shift_magnitude"]]
    for cell in _first_of(moving):
        figures = f"{phrases.short_rate(cell['match_rate'])}; {phrases.shift(cell)}{_runs(cell)}"
        flagged = "; in the review queue" if cell["is_flagged"] else ""
        lines = [cell_name(cell, names[cell["scenario_id"]]), phrases.moved(cell["components"]), figures]
        yield "INCONCLUSIVE", [line for line in [*lines, _more_runs(cell) + flagged] if line]
    yield from _more_of(moving, "inconclusive")
    still = [cell for cell in cells if not cell["shift_magnitude"]]
    few = [cell for cell in still if cell["more_runs"] is not None]
    if few:
        more = max(cell["runs"] + cell["more_runs"] for cell in few)
        text = f"{phrases.plural(len(few), 'cell')} did not move, in too few runs to call that robust"
        yield "INCONCLUSIVE", [text, f"about --repeats {more} would decide"]
    if len(still) > len(few):
        text = f"{phrases.plural(len(still) - len(few), 'cell')} did not move, but too few of the runs match"
        yield "INCONCLUSIVE", [f"{text} to call that robust"]


def _more_runs(cell: Any) -> str:
    if cell["more_runs"] is None:
        return "these runs do not tell how many more would decide it"
    total = cell["runs"] + cell["more_runs"]
    return f"about {phrases.plural(cell['more_runs'], 'more run')} would decide: --repeats {total}"


def _errors(cell: Any) -> str:
    total = cell["runs"] + cell["errors"]
    if not cell["errors"]:
        return "no run of it has ended, or none without pressure to compare it with"
    runs = phrases.plural(total, "run")
    return f"{cell['errors']} of {runs} ended with an error: too few are left to judge by"


def _placebos(report: Any) -> Iterator[tuple[str, list[str]]]:
    """If a placebo shifts the agent, any text does, so the other columns prove little."""
    for column in report["variations"]:
        p = column.get("p_shift")
        if column["is_placebo"] and p is not None and p <= PLACEBO_ALPHA:
            seen = f"harmless text alone shifts this agent by {column['mean_shift']:.2f} on average"
            advice = "compare the other columns with this one before you blame their pressure"
            yield "PLACEBO", [printable(column["id"]), f"{seen}: {advice}"]
