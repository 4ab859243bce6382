"""What `pipelines show` prints of a coding run: the change, and the result of each scorer."""

from typing import Any

from rich.console import Console
from rich.text import Text

from pipelines.cli.output.blocks import print_block, print_title
from pipelines.cli.output.junit import printable
from pipelines.cli.output.phrases import plural

COLOURS = {"PASS": "green", "FAIL": "red", "N/A": "magenta"}
MOST_FILES = 40
MOST_LINES = 120  # of a patch
MOST_OUTPUT = 20  # lines of what a scorer printed
MOST_SIGNS = 20


def print_coding(console: Console, coding: Any, *, full: bool) -> None:
    _print_diff(console, coding.get("diff"), full=full)
    print_results(console, coding, full=full)


def print_results(console: Console, coding: Any, *, full: bool = False) -> None:
    grading = coding.get("grading")
    console.print()
    if grading is None:
        print_title(console, "Scorers: not graded")
        return
    score = "" if grading["score"] is None else f", score {grading['score']:.2f}"
    print_title(console, f"Scorers: {_passed(grading['passed'])}{score}")
    for result in grading["results"]:
        _print_result(console, result, full=full)
    signs = grading["tamper_signs"]
    if signs:
        console.print()
        print_title(console, "Signs of tampering (for review)")
    for sign in signs[:MOST_SIGNS]:
        print_block(console, "", sign, indent=2, rest="yellow")
    restored = grading["restored_files"]
    if restored:
        named = ", ".join(restored[:10]) + (f" and {len(restored) - 10} more" if len(restored) > 10 else "")
        print_block(console, "", f"restored before grading: {named}", indent=2, rest="dim")


def _passed(passed: bool | None) -> str:
    return "could not be judged" if passed is None else "passed" if passed else "did not pass"


def _print_result(console: Console, result: Any, *, full: bool) -> None:
    status = result["status"]
    about = f"{result['type']}{', required' if result['required'] else ''}, score {result['score']:.2f}"
    print_block(
        console, f"  {status}", f"{result['name']} ({about})", indent=8, style=COLOURS.get(status, "")
    )
    print_block(console, "", result["reason"], indent=8)
    lines = result["output"].rstrip().splitlines()
    if status == "PASS" and not full:
        return
    printed = lines if full else lines[-MOST_OUTPUT:]
    if len(lines) > len(printed):
        print_block(console, "", f"… {len(lines) - len(printed)} lines before: --full", indent=8, rest="dim")
    for line in printed:
        print_cut(console, f"        {line}", "dim", full=full)


def _print_diff(console: Console, diff: Any, *, full: bool) -> None:
    console.print()
    if diff is None:
        print_title(console, "Changed in the workspace: not known")
        return
    files = diff["files"]
    counts = f"{plural(len(files), 'file')}, +{diff['added']} −{diff['removed']}" if files else "nothing"
    print_title(console, f"Changed in the workspace: {counts}")
    for file in files if full else files[:MOST_FILES]:
        print_block(console, "", _file_line(file), indent=2)
    if len(files) > MOST_FILES and not full:
        print_block(console, "", f"… and {len(files) - MOST_FILES} more: --full", indent=2)
    if diff["truncated"]:
        print_block(console, "", "the diff exceeds its limit and was cut", indent=2, rest="yellow")
    if diff["ignored_total"]:
        count = plural(diff["ignored_total"], "ignored file")
        text = f"{count} left out: {', '.join(diff['ignored_files'][:5])}"
        print_block(console, "", text, indent=2, rest="dim")
    _print_patch(console, diff["patch"].splitlines(), full=full)


def _file_line(file: Any) -> str:
    lines = "binary" if file["binary"] else f"+{file['added']} −{file['removed']}"
    before = f" (was {file['old_path']})" if file.get("old_path") else ""
    mode = f" mode {file['old_mode']} → {file['new_mode']}" if _mode_changed(file) else ""
    return f"{file['change']} {file['path']}{before} {lines}{mode}"


def _mode_changed(file: Any) -> bool:
    return file["change"] not in ("added", "deleted") and file["old_mode"] != file["new_mode"]


def _print_patch(console: Console, lines: list[str], *, full: bool) -> None:
    text = lines if full else [line for line in lines if not line.startswith("index ")]
    printed = text if full else text[:MOST_LINES]
    for line in printed:
        style = (
            "green"
            if line[:1] == "+"
            else "red"
            if line[:1] == "-"
            else "cyan"
            if line[:2] == "@@"
            else "dim"
        )
        print_cut(console, f"    {line}", style, full=full)
    if len(text) > len(printed):
        print_block(console, "", f"… {len(text) - len(printed):,} more lines: --full", indent=4, rest="dim")


def print_cut(console: Console, line: str, style: str, *, full: bool) -> None:
    """Print one line cut at the right edge: a wrapped line of a diff or a log looks like two."""
    text = Text(printable(line.expandtabs(4)), style=style)
    if not full:
        text.truncate(console.width, overflow="ellipsis")
    text.rstrip()
    console.print(text, soft_wrap=True)
