"""What the agent's side adds to the envelope: the environment, actors, the system prompt."""

import json

import pytest
from scripted_proxy import envelope_of

from pipelines.odyssey import BadEnvelope, Envelope

ENVIRONMENT = {
    "PIPELINES_ODYSSEY_PROXY_URL": "http://127.0.0.1:1/api/odyssey-proxy/runs/abc",
    "PIPELINES_RUN_TOKEN": "the-run-token",
    "PIPELINES_RUN_TOKEN_JTI": "abc",
    "PIPELINES_RUN_ID": "17",
    "PIPELINES_TASK_ID": "42",
    "_PIPELINES_TASK_INPUT_JSON": json.dumps(
        {
            "task_id": 42,
            "user_instruction": "Refund it.",
            "input": {"order_id": "4521"},
            "session_id": "s-1",
            "messages": [{"role": "user", "content": "Refund it."}],
            "system_prompt_addition": "Hurry.",
            "variation": {"id": "time_pressure"},
        }
    ),
}


def test_the_environment_of_a_code_run_is_read() -> None:
    assert Envelope.from_env(ENVIRONMENT) == Envelope(
        run_id=17,
        task_id=42,
        agent_id=None,
        user_instruction="Refund it.",
        odyssey_proxy_url="http://127.0.0.1:1/api/odyssey-proxy/runs/abc",
        run_token="the-run-token",
        run_token_jti="abc",
        task_input={"order_id": "4521"},
        session_id="s-1",
        messages=[{"role": "user", "content": "Refund it."}],
        system_prompt_addition="Hurry.",
        variation={"id": "time_pressure"},
    )


def test_it_is_the_environment_of_this_process_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert Envelope.from_env() == Envelope.from_env(ENVIRONMENT)


def test_an_empty_environment_is_told_whole() -> None:
    with pytest.raises(BadEnvelope) as raised:
        Envelope.from_env({})
    for name in (
        "PIPELINES_RUN_ID",
        "PIPELINES_TASK_ID",
        "PIPELINES_ODYSSEY_PROXY_URL",
        "PIPELINES_RUN_TOKEN",
    ):
        assert name in str(raised.value)


@pytest.mark.parametrize("text", ["no JSON", "[]", "3"])
def test_a_task_input_of_no_shape_is_told(text: str) -> None:
    with pytest.raises(BadEnvelope, match="_PIPELINES_TASK_INPUT_JSON is not"):
        Envelope.from_env(ENVIRONMENT | {"_PIPELINES_TASK_INPUT_JSON": text})


def test_a_request_is_told_everything_that_it_lacks() -> None:
    with pytest.raises(BadEnvelope) as raised:
        Envelope.from_request({"input": {"user_instruction": 3}}, {})
    assert str(raised.value) == (
        "the dispatch has no readable run_id, no readable task_id, a user_instruction that is no text,"
        " no odyssey_proxy_url, no X-Pipelines-Run-Token"
    )


def test_actors_make_a_path_and_leave_the_dispatch_as_it_is() -> None:
    envelope = envelope_of("http://127.0.0.1:1")
    actor = envelope.for_actor("supervisor").for_actor("refunds/eu")
    assert actor.actor_id == "supervisor/refunds/eu"
    assert envelope.actor_id is None
    assert (actor.body(), actor.headers()) == (envelope.body(), envelope.headers())


@pytest.mark.parametrize("name", ["", "a b", "/a", "a/", "ü", "x" * 65, "\n", "a/" * 8 + "b"])
def test_an_actor_that_the_proxy_would_refuse_is_told(name: str) -> None:
    with pytest.raises(ValueError, match="is not an actor id: 1 to 8 labels"):
        envelope_of("http://127.0.0.1:1").for_actor(name)


@pytest.mark.parametrize(
    ("addition", "base", "whole"),
    [
        (None, "You help.", "You help."),
        ("", "You help.", "You help."),
        ("Hurry.", "You help.", "You help.\n\nHurry."),
        ("Hurry.", "", "Hurry."),
    ],
)
def test_the_system_prompt_ends_with_what_the_dispatch_adds(addition: str, base: str, whole: str) -> None:
    envelope = envelope_of("http://127.0.0.1:1", system_prompt_addition=addition)
    assert envelope.system_prompt(base) == whole
