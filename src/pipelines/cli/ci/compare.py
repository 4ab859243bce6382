"""`pipelines ci compare`: what changed between two files of results."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from pipelines.cli.files import or_stop, read_text, write_text
from pipelines.cli.options import Answer
from pipelines.cli.output.junit import printable
from pipelines.core.results.compare_results import (
    Change,
    ResultsComparison,
    compare_results,
    format_markdown,
    headline,
    outcome_text,
)
from pipelines.core.results.results import read_results

MOST_SHOWN = 50


def show_comparison(old: Path, new: Path, *, comment: Path | None, fails: bool) -> Answer:
    found = compare_results(*(or_stop(path, read_results, read_text(path)) for path in (old, new)))
    if comment is not None and found.has_flipped:
        write_text(comment, format_markdown(found))
    return Answer(found.as_json(), lambda _: _print(found), 1 if fails and found.regressed else 0)


def _print(found: ResultsComparison) -> None:
    console = Console(highlight=False)
    console.print(headline(found), markup=False, soft_wrap=True)
    kinds: tuple[tuple[str, str, Sequence[Change]], ...] = (
        ("regressed", "red", found.regressed),
        ("fixed", "green", found.fixed),
        ("newly flaky", "yellow", found.newly_flaky),
        ("not compared", "yellow", found.unknown),
    )
    for word, colour, changes in kinds:
        for change in changes[:MOST_SHOWN]:
            line = (
                f"  {change.suite}: {change.name} ({outcome_text(change.before)} → "
                f"{outcome_text(change.after)})"
            )
            console.print(Text.assemble((word, colour), printable(line)), soft_wrap=True)
            if change.after.why and word == "regressed":
                console.print(Text(f"    {printable(change.after.why)}", style="dim"), soft_wrap=True)
        if len(changes) > MOST_SHOWN:
            console.print(f"  … and {len(changes) - MOST_SHOWN} more {word}")
    for word, names in (("new", found.added), ("gone", found.removed)):
        if names:
            console.print(f"{len(names)} {word}")
