"""PIPELINES_MODEL_GATEWAY: a file or JSON, and everything wrong with it told when the server starts."""

import json
from pathlib import Path

import pytest

from pipelines.core.text.problems import Refused
from pipelines.server.config.settings import load_settings

KEY = "sk-0123456789abcdef"
VARIABLE = "PIPELINES_MODEL_GATEWAY"
FILE = """
openai:
  kind: openai
  base_url: https://api.openai.com/v1
  key_environment: OPENAI_API_KEY
llama:                       # needs no key
  kind: openai
  base_url: http://127.0.0.1:11434/v1
"""


def problems_of(environment: dict[str, str]) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as refused:
        load_settings(environment)
    assert KEY not in str(refused.value.problems)
    return [(problem.path, problem.message) for problem in refused.value.problems]


def test_a_file_of_yaml_and_the_same_as_json_in_the_variable(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(FILE)
    read = load_settings({VARIABLE: str(path), "OPENAI_API_KEY": KEY}).model_upstreams
    assert [(each.name, each.base_url, each.key) for each in read] == [
        ("openai", "https://api.openai.com/v1", KEY),
        ("llama", "http://127.0.0.1:11434/v1", None),
    ]
    inline = {
        "openai": {
            "kind": "openai",
            "base_url": "https://api.openai.com/v1",
            "key_environment": "OPENAI_API_KEY",
        },
        "llama": {"kind": "openai", "base_url": "http://127.0.0.1:11434/v1"},
    }
    again = load_settings({VARIABLE: json.dumps(inline), "OPENAI_API_KEY": KEY})
    assert again.model_upstreams == read
    assert KEY not in repr(again)
    assert load_settings({}).model_upstreams == ()


def test_problems_of_the_list_stand_beside_those_of_other_settings(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(FILE.replace("kind: openai", "kind: opnai", 1))
    told = problems_of({VARIABLE: str(path), "PIPELINES_PORT": "x", "PIPELINES_MODEL_CALLS": "0"})
    assert [place.split(" (")[0] for place, _ in told] == [
        "PIPELINES_PORT",
        "PIPELINES_MODEL_CALLS",
        VARIABLE,
        VARIABLE,
    ]
    assert "line 3" in told[2][0]
    assert "must be `openai` or `anthropic`" in told[2][1]
    assert "`OPENAI_API_KEY` is not set" in told[3][1]


WRONG: dict[str, tuple[str, str]] = {
    "no such file": ("/nowhere/models.yaml", "cannot be read: No such file"),
    "a folder": ("/", "cannot be read"),
    "JSON that is none": ("{openai: [", "this is not YAML"),
    "a list": ('{"a": []}', "must be a JSON object"),
    "an address that is never called": (
        '{"a": {"kind": "openai", "base_url": "http://169.254.169.254/v1"}}',
        "169.254.169.254 is a link-local or metadata address",
    ),
}


@pytest.mark.parametrize(("value", "says"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_used_is_told_at_the_start(value: str, says: str) -> None:
    ((place, message),) = problems_of({VARIABLE: value})
    assert place.startswith(VARIABLE)
    assert says in message


def test_a_private_address_is_a_matter_of_policy() -> None:
    local = '{"a": {"kind": "openai", "base_url": "http://127.0.0.1:1/v1"}}'
    assert load_settings({VARIABLE: local}).model_upstreams
    ((place, message),) = problems_of({VARIABLE: local, "PIPELINES_HOST": "0.0.0.0"})
    assert "/a/base_url" in place
    assert "loopback" in message
