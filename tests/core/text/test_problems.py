"""Problems read as sentences: the place is the subject where the message has none."""

import ast
import re

import pytest

from pipelines.core.text.json_text import InvalidJson, loads
from pipelines.core.text.problems import Problem
from support.repository import PACKAGE

SAID = {
    "a predicate": (
        "/name",
        "must be text of 1 to 255 characters",
        "/name must be text of 1 to 255 characters",
    ),
    "a clause": ("row 3", "the row has 2 cells, the header 3", "row 3: the row has 2 cells, the header 3"),
    "a predicate of everything": ("", "must be a JSON object", "it must be a JSON object"),
    "a predicate of a file": ("file", "is not valid JSON", "the file is not valid JSON"),
    "a clause about a file": ("file", "the file is empty", "the file is empty"),
    "no verb, though it begins like one": ("row 3", "island is unknown", "row 3: island is unknown"),
}


@pytest.mark.parametrize(("path", "message", "said"), SAID.values(), ids=SAID)
def test_place_and_message_are_one_sentence(path, message, said):
    assert Problem(path=path, message=message).said() == said


REASONS = ['{"a": NaN}', "{'a'}", "[" * 70 + "]" * 70, '{"a": 1, "a": 2}', b"\xff", ""]


@pytest.mark.parametrize("text", REASONS)
def test_why_a_text_is_no_json_goes_into_a_sentence(text):
    with pytest.raises(InvalidJson) as found:
        loads(text)
    said = f"The arguments cannot be read: {found.value}."
    assert not re.search(r"\b(is|are) (NaN|the|is)\b", said)
    told = Problem(path="row 2, column state", message=found.value.predicate).said()
    assert re.search(r"column state( is|: .* (is|occurs)) ", told)


SOURCES = PACKAGE


def test_no_message_puts_a_reason_that_is_a_clause_behind_a_verb():
    """`The body is {error}` became "The body is NaN is not JSON"."""
    found = []
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                text = ast.unparse(node)
                if re.search(r"\b(is|are) \{(error|refused|problem)\}", text):
                    found.append(f"{path.name}: {text}")
    assert found == []
