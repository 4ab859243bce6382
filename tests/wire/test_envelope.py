"""The dispatch envelope: the exact names and nesting of the contract, written and read back."""

import doctest
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pipelines.wire.envelope
from pipelines.wire.envelope import BadEnvelope, Envelope

ENVELOPE = Envelope(
    run_id=17,
    task_id=42,
    agent_id=8,
    user_instruction="Refund order #4521 if it shipped more than 30 days ago.",
    task_input={"customer_id": "cust_99", "order_id": "4521"},
    odyssey_proxy_url="https://api.example.com/api/odyssey-proxy/runs/abc",
    run_token="a-secret-token",
    run_token_jti="2105977b27b84f12920087320921f1a5",
)


def test_the_body_is_the_contracts():
    assert ENVELOPE.body() == {
        "task_id": 42,
        "run_id": 17,
        "agent_id": 8,
        "input": {
            "task_id": 42,
            "user_instruction": "Refund order #4521 if it shipped more than 30 days ago.",
            "input": {"customer_id": "cust_99", "order_id": "4521"},
        },
        "odyssey_proxy_url": "https://api.example.com/api/odyssey-proxy/runs/abc",
        "run_token_jti": "2105977b27b84f12920087320921f1a5",
    }


def test_the_headers_are_the_contracts():
    assert ENVELOPE.headers() == {
        "Content-Type": "application/json",
        "X-Pipelines-Run-Token": "a-secret-token",
        "X-Pipelines-Odyssey-Proxy-Url": "https://api.example.com/api/odyssey-proxy/runs/abc",
        "X-Pipelines-Run-Id": "17",
        "X-Pipelines-Task-Id": "42",
        "X-Pipelines-Run-Token-Jti": "2105977b27b84f12920087320921f1a5",
    }


def test_the_token_is_in_a_header_and_nowhere_else():
    assert "a-secret-token" not in str(ENVELOPE.body())
    assert "a-secret-token" not in repr(ENVELOPE)


@pytest.mark.parametrize("nothing", [None, {}])
def test_a_task_without_input_hands_over_an_empty_object(nothing):
    assert replace(ENVELOPE, task_input=nothing).body()["input"]["input"] == {}


MORE = {
    "messages": [{"role": "user", "content": "Refund it."}],
    "session_id": "s-1",
    "system_prompt_addition": "You are in a hurry.",
    "variation": {"id": "time_pressure", "version": 1, "intensity": 2},
}


@pytest.mark.parametrize("name", MORE)
def test_what_only_some_dispatches_have_stands_in_the_task_payload(name):
    assert name not in ENVELOPE.body()["input"]
    assert replace(ENVELOPE, **{name: MORE[name]}).body()["input"][name] == MORE[name]


IDS = st.integers(min_value=1, max_value=2**63 - 1)
WORDS = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1)
ENVELOPES = st.builds(
    Envelope,
    run_id=IDS,
    task_id=IDS,
    agent_id=IDS,
    user_instruction=st.text(),
    odyssey_proxy_url=WORDS,
    run_token=WORDS,
    run_token_jti=WORDS,
    task_input=st.dictionaries(st.text(), st.integers()) | st.lists(st.integers(), min_size=1),
    messages=st.none() | st.just(MORE["messages"]),
    session_id=st.none() | st.text(min_size=1),
    system_prompt_addition=st.none() | st.text(min_size=1),
    variation=st.none() | st.just(MORE["variation"]),
)


@given(ENVELOPES)
def test_what_is_written_is_read_back(envelope):
    assert Envelope.from_request(envelope.body(), envelope.headers()) == envelope


@given(ENVELOPES)
def test_headers_stand_in_for_what_an_edge_took_out_of_the_body(envelope):
    body = envelope.body()
    for name in ("run_id", "task_id", "odyssey_proxy_url", "run_token_jti"):
        del body[name]
    shouted = {name.upper(): value for name, value in envelope.headers().items()}
    assert Envelope.from_request(body, shouted) == envelope


def test_the_body_comes_first():
    headers = ENVELOPE.headers() | {"X-Pipelines-Odyssey-Proxy-Url": "https://elsewhere.example"}
    assert Envelope.from_request(ENVELOPE.body(), headers).odyssey_proxy_url == ENVELOPE.odyssey_proxy_url


NO_DISPATCHES = {
    "a ping": ({"ping": True}, ENVELOPE.headers() | {"X-Pipelines-Run-Id": "x"}),
    "no token": (ENVELOPE.body(), {}),
    "no proxy": (
        ENVELOPE.body() | {"odyssey_proxy_url": None},
        {"X-Pipelines-Run-Token": "a-secret-token"},
    ),
    "an id that is none": (ENVELOPE.body() | {"run_id": True}, ENVELOPE.headers()),
    "no words but a number": (ENVELOPE.body() | {"input": {"user_instruction": 3}}, ENVELOPE.headers()),
}


@pytest.mark.parametrize(("body", "headers"), NO_DISPATCHES.values(), ids=NO_DISPATCHES)
def test_what_is_no_dispatch_is_told_so_without_the_token(body, headers):
    with pytest.raises(BadEnvelope) as refused:
        Envelope.from_request(body, headers)
    assert "a-secret-token" not in str(refused.value)


def test_the_examples_hold():
    assert doctest.testmod(pipelines.wire.envelope).failed == 0
