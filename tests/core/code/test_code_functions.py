"""What is said about functions inside a sandbox, read as tools: it is the code's own word."""

from typing import Any

import pytest

from pipelines.core.code.code_config import FunctionEntry
from pipelines.core.code.code_functions import tools_of_functions
from pipelines.core.text.json_text import Json

ENTRIES = (FunctionEntry(file="a.py", function="f"), FunctionEntry(file="b.py", function=None))
SCHEMA: Json = {"type": "object", "properties": {}}


def said(name: str = "f", file: str = "a.py", **more: Any) -> dict[str, Any]:
    return {"name": name, "function": name, "file": file, "description": "", "input_schema": SCHEMA, **more}


def test_a_function_is_a_tool() -> None:
    (tool,) = tools_of_functions([said(description="Does.", output_schema={"type": "string"})], ENTRIES).tools
    assert (tool.name, tool.description, tool.output_schema) == ("f", "Does.", {"type": "string"})
    assert tool.call == {"file": "a.py", "function": "f"}


ODD: dict[str, tuple[Json, str]] = {
    "nothing": (None, "f was not found"),
    "a text": ("f", "f was not found"),
    "no object": ([1], "the sandbox's report on a function cannot be read"),
    "a function that nobody asked for": (
        [said("g")],
        "the sandbox's report on a function cannot be read",
    ),
    "another file": ([said(file="c.py")], "the sandbox's report on a function cannot be read"),
    "a name that is none": (
        [said("é", file="b.py")],
        "é is not a tool: a tool's name must have only ASCII letters",
    ),
    "a problem": ([said(problem="is odd")], "f is not a tool: is odd"),
    "no schema": ([said(input_schema=[])], "f is not a tool: it has no input schema"),
    "a schema that is none": ([said(input_schema={"type": "thing"})], "f is not a tool: "),
    "a schema that reads a file": ([said(input_schema={"$ref": "file:///etc/passwd"})], "f is not a tool: "),
    "an output schema that is none": ([said(output_schema={"type": 3})], "f is not a tool: "),
}


@pytest.mark.parametrize(("words", "note"), ODD.values(), ids=ODD)
def test_what_is_no_tool_is_a_note(words: Json, note: str) -> None:
    found = tools_of_functions(words, ENTRIES)
    assert found.tools == ()
    assert found.notes[0].startswith(note)


def test_notes_are_few_and_short() -> None:
    found = tools_of_functions([said(notes=["x" * 9_000] * 900, input_schema={"type": "object"})], ENTRIES)
    assert len(found.notes) == 100
    assert max(map(len, found.notes)) == 500


def test_the_same_function_told_twice_is_one_tool() -> None:
    found = tools_of_functions([said("g", "b.py"), said("g", "b.py", description="other")], ENTRIES[1:])
    assert [tool.description for tool in found.tools] == [""]
    assert found.notes == ("g is defined twice; the first is used",)
