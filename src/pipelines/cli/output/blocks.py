"""Prints text blocks for a terminal of any width: a label, with text wrapped beside or below it."""

import json
from typing import Any

from rich.console import Console
from rich.text import Text

from pipelines.cli.output.junit import printable

NARROWEST = 20  # of the words beside a label
COLOURS = {"PASS": "green", "FAIL": "red", "PENDING": "yellow", "ERROR": "red", "NOT_APPLICABLE": "magenta"}


def new_console() -> Console:
    return Console(highlight=False)


def print_block(
    console: Console, label: str, words: str, *, indent: int | None = None, style: str = "", rest: str = ""
) -> None:
    """Print `words` wrapped to the right of `label`, at the column `indent` (default: after the label).

    Texts of agents and authors are printed literally: neither as markup nor as terminal codes.
    """
    inner = len(label) + 1 if indent is None else indent
    width = max(NARROWEST, console.width - inner)
    lines = Text(printable(words).expandtabs(4), style=rest).wrap(console, width) or [Text()]
    for number, line in enumerate(lines):
        head = label.ljust(inner) if number == 0 else " " * inner
        whole = Text.assemble((head, style), line)
        whole.rstrip()
        console.print(whole, soft_wrap=True)


def print_title(console: Console, words: str) -> None:
    print_block(console, "", words, indent=0, rest="bold")


def shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def one_line(text: str | None, longest: int) -> str:
    return shortened(" ".join((text or "").split()), longest)


def value_text(value: Any, longest: int) -> str:
    """A JSON value as JSON; a string without quotes."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shortened(text, longest)


def arguments_text(arguments: Any, longest: int) -> str:
    """`order_id="4521" reason="late"`"""
    if not isinstance(arguments, dict):
        return "" if arguments is None else value_text(arguments, longest)
    parts = [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()]
    return shortened(" ".join(parts), longest)
