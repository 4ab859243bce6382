"""How a model is named, and who may name which."""

import pytest

from pipelines.core.models.model_names import ModelName, for_orgs, read_model_name, read_models
from pipelines.core.models.model_question import Purpose
from pipelines.core.text.authored import Fields
from pipelines.core.text.problems import Problem


def read(text: str) -> ModelName:
    problems: list[Problem] = []
    name = read_model_name(text, "", problems)
    assert name is not None, problems
    return name


def test_a_provider_needs_its_usual_key() -> None:
    name = read("openai:gpt-5-mini")
    assert (name.provider, name.model, name.key_variable, name.served_by) == (
        *("openai", "gpt-5-mini", "OPENAI_API_KEY", "openai"),
    )
    assert read("openrouter:deepseek/deepseek-r1:free").model == "deepseek/deepseek-r1:free"


def test_a_url_has_its_model_behind_a_hash_and_never_gets_a_providers_key() -> None:
    name = read("http://127.0.0.1:11434/v1/#qwen3:4b")
    assert (name.where, name.model, name.key_variable) == (
        *("http://127.0.0.1:11434/v1", "qwen3:4b", "MODEL_API_KEY"),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpt-5-mini", "provider:model"),
        ("opnai:gpt-5", "no provider `opnai`"),
        ("openai:", "provider:model"),
        ("openai:gpt 5", "spaces"),
        ("http://127.0.0.1:11434/v1", "has no model"),
        ("https://user:secret@host/v1#m", "credentials"),
        ("https://host/v1?key=1#m", "without `?`"),
        ("https://127%2e0%2e0%2e1/v1#m", "host"),
        ("scripted:", "needs a file"),
        ("refusing:because", "is not a reason"),
        ("openai:" + "x" * 600, "over 500"),
        ("openai:a\nb", "invisible"),
    ],
)
def test_what_is_no_name_is_said(text: str, said: str) -> None:
    problems: list[Problem] = []
    assert read_model_name(text, "PIPELINES_MODEL", problems) is None
    (problem,) = problems
    assert said in problem.message
    assert "secret" not in problem.message


@pytest.mark.parametrize(
    "text", ["scripted:/etc/passwd", "recorded:x", "refusing:", "https://models.example/v1#m"]
)
def test_files_and_urls_are_the_operators_unless_private_endpoints_are_allowed(text: str) -> None:
    assert for_orgs(read(text), allows_private=False) is not None
    assert for_orgs(read(text), allows_private=True) is None
    assert for_orgs(read("openai:gpt-5-mini"), allows_private=False) is None


def test_models_of_an_agent_are_read_with_every_problem() -> None:
    problems: list[Problem] = []
    body = {"models": {"judge": "openai:gpt-5", "user": "nobody:x", "painter": "openai:x"}}
    assert read_models(Fields(body, "/config", problems)) == {Purpose.JUDGE: "openai:gpt-5"}
    assert [problem.path for problem in problems] == ["/config/models/painter", "/config/models/user"]
