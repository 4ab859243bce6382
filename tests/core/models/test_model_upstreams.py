"""The operator's list of models: what it may say, and everything that is wrong with it at once."""

from typing import Any

import pytest

from pipelines.core.models.model_upstreams import (
    AllowedCall,
    ModelUpstream,
    is_plain_path,
    key_complaint,
    read_upstreams,
)
from pipelines.core.text.problems import Problem

KEY = "sk-0123456789abcdef"
OPENAI: dict[str, Any] = {"kind": "openai", "base_url": "https://api.openai.com/v1"}


def read(body: Any, **environment: str) -> tuple[tuple[ModelUpstream, ...], list[Problem]]:
    problems: list[Problem] = []
    return read_upstreams(body, environment=environment, problems=problems), problems


def test_what_is_left_out_is_as_its_kind_has_it():
    (openai, claude), problems = read(
        {
            "openai": OPENAI | {"key_environment": "K"},
            "my-claude": {"kind": "anthropic", "base_url": "https://a.example.com/", "key_credential": "C"},
        },
        K=KEY,
    )
    assert problems == []
    assert (openai.key_header, openai.header_value(KEY)) == ("Authorization", f"Bearer {KEY}")
    assert (claude.key_header, claude.header_value(KEY)) == ("x-api-key", KEY)
    assert (openai.key, claude.key, claude.key_credential) == (KEY, None, "C")
    assert claude.base_url == "https://a.example.com"
    assert (openai.url_variable, claude.url_variable) == (
        "PIPELINES_MODEL_URL_OPENAI",
        "PIPELINES_MODEL_URL_MY_CLAUDE",
    )
    assert openai.allows("POST", "/chat/completions")
    assert openai.allows("GET", "/models/gpt-4o")
    assert not openai.allows("GET", "/files")
    assert not openai.allows("POST", "/v1/messages")
    assert claude.allows("POST", "/v1/messages")


def test_a_key_is_in_no_text_of_it():
    (upstream,), _ = read({"openai": OPENAI | {"key_environment": "K"}}, K=KEY)
    assert KEY not in f"{upstream!r} {upstream}"


def test_what_is_allowed_can_be_named():
    allow = ["POST /deployments/gpt/chat/completions", "GET /things/*"]
    (upstream,), problems = read({"azure": OPENAI | {"allow": allow}})
    assert problems == []
    assert upstream.allow[1] == AllowedCall(method="GET", path="/things/*")
    assert upstream.allows("GET", "/things/one")
    assert not upstream.allows("GET", "/things/one/two")
    assert not upstream.allows("GET", "/things/")
    assert not upstream.allows("POST", "/chat/completions")


WRONG: dict[str, tuple[Any, str, str]] = {
    "no object": ([], "", "must be a JSON object"),
    "a bad name": ({"Open AI": OPENAI}, "/Open AI", "is not a valid upstream name"),
    "no upstream": ({"a": 1}, "/a", "must be a JSON object"),
    "no kind": ({"a": {"base_url": "http://x"}}, "/a/kind", "`kind` is missing"),
    "another kind": ({"a": OPENAI | {"kind": "opnai"}}, "/a/kind", "not `opnai`"),
    "no URL": ({"a": {"kind": "openai"}}, "/a/base_url", "`base_url` is missing"),
    "another scheme": ({"a": OPENAI | {"base_url": "file:///etc"}}, "/a/base_url", "must start with http"),
    "no host": ({"a": OPENAI | {"base_url": "http:///v1"}}, "/a/base_url", "names no host"),
    "an odd host": ({"a": OPENAI | {"base_url": "http://127.1/v1"}}, "/a/base_url", "almost an IPv4 address"),
    "credentials": ({"a": OPENAI | {"base_url": "http://u:p@x/v1"}}, "/a/base_url", "contains credentials"),
    "a query": ({"a": OPENAI | {"base_url": "http://x/v1?a=b"}}, "/a/base_url", "must end with its path"),
    "dots": ({"a": OPENAI | {"base_url": "http://x/v1/../.."}}, "/a/base_url", "relative parts"),
    "a line break": (
        {"a": OPENAI | {"base_url": "http://x/\r\nA: b"}},
        "/a/base_url",
        "not allowed in a URL",
    ),
    "a port that is none": ({"a": OPENAI | {"base_url": "http://x:99999"}}, "/a/base_url", "is not a URL"),
    "a key in the list": ({"a": OPENAI | {"key": KEY}}, "/a/key", "unknown field `key`"),
    "a variable that is not set": (
        {"a": OPENAI | {"key_environment": "NONE"}},
        "/a/key_environment",
        "`NONE` is not set",
    ),
    "a short key": ({"a": OPENAI | {"key_environment": "SHORT"}}, "/a/key_environment", "has 4 characters"),
    "a key with a line break": (
        {"a": OPENAI | {"key_environment": "BROKEN"}},
        "/a/key_environment",
        "not allowed in a key",
    ),
    "two keys": (
        {"a": OPENAI | {"key_environment": "K", "key_credential": "K"}},
        "/a/key_credential",
        "not both",
    ),
    "a credential that is none": (
        {"a": OPENAI | {"key_credential": "a b"}},
        "/a/key_credential",
        "is not a valid credential name",
    ),
    "a header without a key": ({"a": OPENAI | {"key_header": "X-Key"}}, "/a/key_header", "there is no key"),
    "no header": (
        {"a": OPENAI | {"key_environment": "K", "key_header": "a b"}},
        "/a/key_header",
        "is not a valid HTTP",
    ),
    "the connection's header": (
        {"a": OPENAI | {"key_environment": "K", "key_header": "Host"}},
        "/a/key_header",
        "belongs to the connection",
    ),
    "a call of another method": ({"a": OPENAI | {"allow": ["PUT /x"]}}, "/a/allow/0", "can be allowed"),
    "a call up": ({"a": OPENAI | {"allow": ["GET /a/../b"]}}, "/a/allow/0", "can be allowed"),
    "everything": ({"a": OPENAI | {"allow": ["GET *"]}}, "/a/allow/0", "can be allowed"),
    "names that become one": ({"a-b": OPENAI, "a_b": OPENAI}, "/a_b", "would share the variable"),
}


@pytest.mark.parametrize(("body", "path", "says"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_where_it_stands(body, path, says):
    _, problems = read(body, K=KEY, SHORT="abcd", BROKEN=f"{KEY}\n")
    told = [(problem.path, problem.message) for problem in problems]
    assert len(told) == 1, told
    assert told[0][0] == path
    assert says in told[0][1]
    assert KEY not in str(problems)


def test_all_problems_are_told_at_once():
    _, problems = read({"a": {"kind": "x", "base_url": "y", "key_environment": "Z"}, "B": {}})
    assert {problem.path for problem in problems} == {"/a/kind", "/a/base_url", "/a/key_environment", "/B"}


@pytest.mark.parametrize(
    "path", ["/..", "/a/.", "//a", "/a//", "/%2e", "/a b", "/a?b", "/a#b", "a", "/a\n", "/é"]
)
def test_paths_that_others_could_read_differently(path):
    assert not is_plain_path(path)


@pytest.mark.parametrize("key", ["", "a" * 7, "a" * 4_097, "a b c d e", "schlüssel-lang", "a\tbcdefgh"])
def test_keys_that_cannot_be_sent_or_kept_apart(key):
    assert key_complaint(key) is not None
