"""What a sandbox says its function returned, read by the server."""

import json

import pytest

from pipelines.sandbox.code_errors import MOST_VALUES, read_frame
from pipelines.sandbox.job import CodeErrorKind, Limits

TOO_MANY = {
    "lists": "[" + "[]," * MOST_VALUES + "[]]",
    "numbers": "[" + "1," * (2 * MOST_VALUES) + "1]",
    "objects": "[" + "{}," * MOST_VALUES + "{}]",
    "no JSON": "[" * (2 * MOST_VALUES),
}
READ = {
    "text with commas": json.dumps({"final_response": "one, two, [three] " * 300_000}),
    "text with quotes": json.dumps({"final_response": '", ' * MOST_VALUES}),
    "many values": json.dumps({"final_response": "x", "metadata": [0] * (MOST_VALUES - 5)}),
}


def frame(text: str) -> bytes:
    return json.dumps({"kind": "result", "json": text}).encode()


@pytest.mark.parametrize("text", TOO_MANY.values(), ids=TOO_MANY.keys())
def test_a_result_of_too_many_values_is_not_read(text: str) -> None:
    result, error = read_frame(frame(text), Limits())
    assert result is None
    assert error is not None
    assert (error.kind, error.message) == (
        CodeErrorKind.BAD_RESULT,
        "what the function returned has more than 500,000 values",
    )


@pytest.mark.parametrize("text", READ.values(), ids=READ.keys())
def test_a_long_result_is_read(text: str) -> None:
    assert read_frame(frame(text), Limits()) == (json.loads(text), None)
