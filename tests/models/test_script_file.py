"""Models that are files: scripts and cassettes."""

from pathlib import Path

import pytest

from pipelines.core.models.model_question import (
    Failure,
    ModelCallFailed,
    ModelMessage,
    ModelQuestion,
    Purpose,
)
from pipelines.core.text.json_text import dumps
from pipelines.core.text.problems import Refused
from pipelines.models.recorded import read_cassette
from pipelines.models.refusing import RefusingModel
from pipelines.models.script_file import read_script

pytestmark = pytest.mark.anyio


def question(text: str, purpose: Purpose = Purpose.JUDGE) -> ModelQuestion:
    return ModelQuestion(
        purpose=purpose,
        prompt_version="test/1",
        system="Count.",
        messages=(ModelMessage(role="user", content=text),),
        schema={"type": "object"},
    )


SCRIPT = """
{"purpose": "judge", "about": ["order", "4521"], "answer": {"n": 1}, "times": 1}
{"about": "4521", "failure": "timeout"}
{"answer": "no JSON"}
{"price_per_million_tokens": 2.5}
"""
AS_YAML = """
- {purpose: judge, about: [order, "4521"], answer: {n: 1}, times: 1}
- about: "4521"
  failure: timeout
- answer: no JSON
- price_per_million_tokens: 2.5
"""


@pytest.mark.parametrize("text", [SCRIPT, AS_YAML])
async def test_a_script_answers_by_what_a_question_is_about(tmp_path: Path, text: str) -> None:
    (tmp_path / "script").write_text(text)
    model = read_script(tmp_path / "script")
    first = await model.ask(question("of order 4521"))
    assert first.data == {"n": 1}
    assert first.cost_nanousd == 2_500 * ((first.input_tokens or 0) + (first.output_tokens or 0))
    with pytest.raises(ModelCallFailed) as raised:
        await model.ask(question("of order 4521"))
    assert raised.value.failure is Failure.TIMEOUT
    assert (await model.ask(question("else", Purpose.USER))).text == "no JSON"


def test_everything_wrong_with_a_script_is_said_at_once(tmp_path: Path) -> None:
    lines = (
        '{"answer": 1, "failure": "timeout"}',
        '{"about": 3, "answer": {}, "times": 0, "painter": 1}',
        "[1]",
        "{",
        '{"price_per_million_tokens": -1}',
    )
    (tmp_path / "script").write_text("\n".join(lines))
    with pytest.raises(Refused) as raised:
        read_script(tmp_path / "script")
    places = {problem.path.partition("/")[0] for problem in raised.value.problems}
    assert places == {f"line {number}" for number in range(1, 6)}


async def test_a_cassette_is_found_by_the_whole_question(tmp_path: Path) -> None:
    asked = question("How many?")
    lines = [
        {
            "purpose": "judge",
            "model": "openai:x",
            "request": asked.as_json(),
            "answer": '{"n":1}',
            "input_tokens": 7,
        },
        {"request": asked.as_json(), "answer": '{"n":2}'},
        {"request": question("Who?").as_json(), "failure": "refused"},
    ]
    (tmp_path / "cassette.jsonl").write_bytes(b"\n".join(map(dumps, lines)))
    model = read_cassette(tmp_path / "cassette.jsonl")
    given = [await model.ask(asked) for _ in range(3)]
    assert [each.data for each in given] == [{"n": 1}, {"n": 2}, {"n": 2}]
    assert (given[0].input_tokens, given[0].cost_nanousd) == (7, 0)
    for text, failure in (("Who?", Failure.REFUSED), ("Who else?", Failure.NOT_RECORDED)):
        with pytest.raises(ModelCallFailed) as raised:
            await model.ask(question(text))
        assert raised.value.failure is failure


async def test_a_refusing_model_refuses_for_the_reason_it_was_given() -> None:
    with pytest.raises(ModelCallFailed) as raised:
        await RefusingModel(Failure.RATE_LIMITED).ask(question("?"))
    assert raised.value.failure is Failure.RATE_LIMITED
