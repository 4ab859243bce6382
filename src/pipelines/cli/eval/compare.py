"""`pipelines eval compare`: what changed between two matrices, and whether it is more than chance."""

from collections.abc import Iterator
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from pipelines.cli.client import Server
from pipelines.cli.eval.run import MATRIX
from pipelines.cli.options import Answer
from pipelines.cli.output.junit import printable
from pipelines.cli.output.phrases import plural

ALPHA = 0.05  # of the test over all pairs
Q = 0.10  # of a single pair, adjusted for all of them: as for the cells of a heatmap
MOST_SHOWN = 30
TESTS = {"mcnemar": "exact McNemar test", "sign_flip": "sign-flip test"}


def show_comparison(server: Server, old: str, new: str, *, fails: bool) -> Answer:
    compared = server.get(f"{MATRIX}/{old}/compare", to=new)
    lost = [*regressions(compared)] if fails else []
    return Answer(
        compared, lambda compared: _print(Console(highlight=False), compared, lost), int(bool(lost))
    )


def regressions(compared: Any) -> Iterator[str]:
    """The reasons to fail a gate. A single changed cell of an unstable agent is none."""
    test = compared["test"]
    if test["p"] is not None and test["p"] <= ALPHA and (test["mean_difference"] or 0) < 0:
        yield f"all in all fewer runs match (p {test['p']:.3g})"
    sure = [pair for pair in compared["regressions"] if pair["p_adjusted"] <= Q]
    if sure:
        yield f"{plural(len(sure), 'cell')} by more than chance"
    flips = [p for p in compared["regressions"] if p["is_flip"] and p["risk_level"] == "critical"]
    if flips:
        yield f"{plural(len(flips), 'flip')} on critical scenarios"


def _print(console: Console, compared: Any, lost: list[str]) -> None:
    before, after = compared["from"], compared["to"]
    console.print(f"{_matrix_name(before)}  →  {_matrix_name(after)}", markup=False, style="bold")
    for warning in compared["warnings"]:
        console.print(Text(f"warning: {printable(warning)}", style="yellow"))
    for title, key, style in (("WORSE", "regressions", "bold red"), ("BETTER", "improvements", "green")):
        pairs = compared[key]
        for pair in pairs[:MOST_SHOWN]:
            console.print(Text.assemble((f"{title:6}", style), f" {_cell_name(pair)}"))
            console.print(Text(f"       {_figures(pair)}"))
        if len(pairs) > MOST_SHOWN:
            console.print(f"       and {len(pairs) - MOST_SHOWN} more: --json")
    _print_summary(console, compared)
    if lost:
        typer.echo(f"Regressed: {'; '.join(lost)}", err=True)


def _matrix_name(matrix: Any) -> str:
    agent = matrix["agent"] or {}
    return f"{printable(str(agent.get('name')))} v{agent.get('version')} ({matrix['matrix_id']})"


def _cell_name(pair: Any) -> str:
    flip = "flipped: " if pair["is_flip"] else ""
    where = f"{printable(pair['scenario'])} × {printable(pair['variation'] or 'baseline')}"
    return f"{flip}{where} ({pair['risk_level']} risk)"


def _figures(pair: Any) -> str:
    sides = [
        f"{side['match_rate']['k']}/{side['match_rate']['n']}" for side in (pair["before"], pair["after"])
    ]
    verdicts = [side.get("verdict") for side in (pair["before"], pair["after"])]
    text = f"match {sides[0]} → {sides[1]}"
    text += f", {verdicts[0]} → {verdicts[1]}" if all(verdicts) and verdicts[0] != verdicts[1] else ""
    text += f", p {pair['p_adjusted']:.3g} adjusted"
    return text + "".join(f"; not tested: {printable(note)}" for note in pair["notes"])


def _print_summary(console: Console, compared: Any) -> None:
    flips, test = compared["flips"], compared["test"]
    pairs = plural(compared["compared"], "pair")
    console.print(
        f"\n{pairs} compared: {flips['regressed']} flipped for the worse, {flips['improved']} for the better,"
        f" {compared['same']} are as they were."
    )
    if test["p"] is None:
        console.print("Nothing could be tested.")
    else:
        mean, name = test["mean_difference"] or 0.0, TESTS.get(test["name"], test["name"])
        by_scenario = test["by_scenario"]["p"]
        clustered = "" if by_scenario is None else f"; by scenario alone p {by_scenario:.3g}"
        console.print(
            f"Match rate {mean * 100:+.0f} points over {plural(test['pairs'], 'pair')}: p {test['p']:.3g}"
            f" ({name}{clustered})."
        )
    missing = compared["not_compared"]
    if missing:
        reasons = sorted({str(each["reason"]) for each in missing})
        console.print(
            Text(f"{plural(len(missing), 'cell')} not compared: {'; '.join(reasons[:3])}", style="dim")
        )
