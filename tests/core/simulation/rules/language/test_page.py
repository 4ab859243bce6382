"""Every example of docs/reference/behavior.md is read as the page says."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.core.simulation.rules.language.worlds import meant, shop, stop_of

from pipelines.core.simulation.rules.forms import FORMS, as_json
from pipelines.core.simulation.rules.language.to_sentence import to_sentence
from pipelines.core.text.yaml_text import read_yaml

PAGE = (Path(__file__).parents[5] / "docs/reference/behavior.md").read_text()


def blocks(tag: str) -> list[str]:
    return re.findall(rf"^```{tag}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def examples() -> Iterator[tuple[str, list[str], list[object]]]:
    """Sentences, each with the canonical sentences and the typed rules that stand below its group."""
    for block in blocks("behavior"):
        group: list[str] = []
        shown: list[str] = []
        typed: list[object] = []
        for line in [*block.splitlines(), ""]:
            if line.startswith("= "):
                shown.append(line.removeprefix("= "))
            elif line.startswith("  {"):
                typed.append(read_yaml(line, what="rule", most_bytes=2_000).value)
            else:
                if shown:
                    yield from ((sentence, shown, typed) for sentence in group)
                    group, shown, typed = [], [], []
                group.append(line)


EXAMPLES = [*examples()]


@pytest.mark.parametrize(("sentence", "shown", "typed"), EXAMPLES, ids=[one[0] for one in EXAMPLES])
def test_an_example_is_read_as_the_page_says(sentence: str, shown: list[str], typed: list[object]) -> None:
    reading = shop().read(sentence)
    assert [f"{to_sentence(rule, shop().vocabulary)}." for rule in reading.rules] == shown
    assert [as_json(rule) for rule in reading.rules] == typed


@pytest.mark.parametrize("sentence", sorted({one for _, shown, _ in EXAMPLES for one in shown}))
def test_a_canonical_line_is_read_as_itself(sentence: str) -> None:
    reading = shop().read(sentence)
    assert [f"{to_sentence(rule, shop().vocabulary)}." for rule in reading.rules] == [sentence]


def test_the_page_has_examples_of_every_form() -> None:
    shown = {rule["form"] for _, _, typed in EXAMPLES for rule in typed}  # type: ignore[index]
    assert shown == {*FORMS}


@pytest.mark.parametrize("sentence", [line for block in blocks("not-read") for line in block.splitlines()])
def test_an_example_of_what_is_not_read_is_not_read(sentence: str) -> None:
    stop = stop_of(sentence)
    assert stop.words
    assert stop.message


@pytest.mark.parametrize(
    "wording",
    sorted(
        {
            wording
            for row in PAGE.split("What can be said of a field")[1].split("###")[0].splitlines()
            if row.startswith("| ") and not row.startswith("| computed")
            for wording in re.findall(r"`([^`]+)`", row)
        }
    ),
)
def test_what_the_table_says_of_a_field_is_read(wording: str) -> None:
    """Of a number, a text, a date, a switch or a status: of one of them it must be."""
    of = ("total", "status", "shipped_at", "refunded", "reason", "user_id")
    whole = re.match(r"(the order has|no \w+ is given)", wording) is not None
    tries = [wording] if whole else [f"the {'given ' * (name == 'reason')}{name} {wording}" for name in of]
    read = [meant(shop().read(f"cancel_order fails when {one}").rules) for one in tries]
    assert any(read), wording
