"""Trace events and handoffs over real sockets."""

import asyncio
from typing import Any

import pytest
from scripted_proxy import (
    ACCEPTED,
    RATE_LIMITED,
    Dropped,
    Reply,
    Silence,
    envelope_of,
    platform_error,
    scripted,
)

from pipelines.odyssey import (
    ProxyRefused,
    ProxyUnavailable,
    async_post_handoff,
    async_post_trace_event,
    async_try_post_trace_event,
    post_handoff,
    post_trace_event,
    set_current,
    try_post_trace_event,
)


def by_async(function: Any) -> Any:
    return lambda *arguments, **options: asyncio.run(function(*arguments, **options))


POST = {"sync": post_trace_event, "async": by_async(async_post_trace_event)}
TRY = {"sync": try_post_trace_event, "async": by_async(async_try_post_trace_event)}
HAND_OFF = {"sync": post_handoff, "async": by_async(async_post_handoff)}


@pytest.mark.parametrize("post", POST.values(), ids=POST)
def test_an_event_is_posted_and_its_place_in_the_trace_comes_back(post: Any) -> None:
    with scripted(ACCEPTED) as proxy, set_current(proxy.envelope.for_actor("refunds")):
        accepted = post("thinking", {"text": "It shipped 40 days ago."})
    assert accepted == {"accepted": True, "sequence": 3, "event_type": "thinking"}
    (asked,) = proxy.asked
    assert asked.path == "/api/odyssey-proxy/runs/abc/traces/thinking"
    assert asked.body == {"text": "It shipped 40 days ago."}
    assert asked.headers["x-pipelines-actor-id"] == "refunds"


def test_an_envelope_at_hand_stands_in_for_the_current_one() -> None:
    with scripted(ACCEPTED) as proxy:
        post_trace_event("custom", envelope=proxy.envelope)
        assert try_post_trace_event("custom", envelope=proxy.envelope)
        post_handoff("refunds", envelope=proxy.envelope)
    assert len(proxy.asked) == 3


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("post", POST.values(), ids=POST)
def test_events_are_tried_again_as_calls_are(post: Any) -> None:
    with scripted(RATE_LIMITED, Dropped(), ACCEPTED) as proxy:
        assert post("thinking", {}, envelope=proxy.envelope)["accepted"] is True
    assert len(proxy.asked) == 3


@pytest.mark.parametrize("post", POST.values(), ids=POST)
def test_an_event_that_is_not_taken_is_told(post: Any) -> None:
    refusal = platform_error(400, "trace_event_type_invalid")
    with scripted(refusal) as proxy, pytest.raises(ProxyRefused, match="what trace_event_type_invalid means"):
        post("dreaming", {}, envelope=proxy.envelope)


@pytest.mark.usefixtures("at_once")
def test_an_event_that_cannot_be_posted_is_told() -> None:
    with scripted(Dropped()) as proxy, pytest.raises(ProxyUnavailable):
        post_trace_event("thinking", {}, envelope=proxy.envelope)


TROUBLES = {
    "rate limited": RATE_LIMITED,
    "dropped": Dropped(),
    "refused": platform_error(400, "trace_event_type_invalid"),
    "no JSON": Reply(200, b"<html>"),
    "silent": Silence(),
}


@pytest.mark.parametrize("attempt", TRY.values(), ids=TRY)
@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_a_best_effort_tries_once_and_never_raises(
    attempt: Any, trouble: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.odyssey.events.BEST_EFFORT_TIMEOUT_S", 0.2)
    with scripted(trouble) as proxy:
        assert attempt("thinking", {"text": "…"}, envelope=proxy.envelope) is False
    assert len(proxy.asked) == 1


@pytest.mark.parametrize("attempt", TRY.values(), ids=TRY)
def test_a_best_effort_says_when_it_worked(attempt: Any) -> None:
    with scripted(ACCEPTED) as proxy:
        assert attempt("thinking", {"text": "…"}, envelope=proxy.envelope) is True


@pytest.mark.parametrize("attempt", TRY.values(), ids=TRY)
def test_a_best_effort_takes_any_mistake(attempt: Any) -> None:
    assert attempt("thinking", {"text": "no envelope is bound"}) is False
    assert attempt("thinking", {"text": b"no JSON"}, envelope=envelope_of("http://127.0.0.1:9")) is False
    assert attempt("thinking", {}, envelope=envelope_of("nonsense")) is False


@pytest.mark.parametrize("hand_off", HAND_OFF.values(), ids=HAND_OFF)
def test_a_handoff_names_both_sides(hand_off: Any) -> None:
    with scripted(ACCEPTED) as proxy, set_current(proxy.envelope.for_actor("supervisor")):
        hand_off("refunds", reason="Money back.", ticket=7)
    (asked,) = proxy.asked
    assert asked.path.endswith("/traces/handoff")
    assert asked.body == {
        "from_actor": "supervisor",
        "to_actor": "refunds",
        "reason": "Money back.",
        "ticket": 7,
    }


def test_the_agent_itself_hands_over_from_nobody() -> None:
    with scripted(ACCEPTED) as proxy, set_current(proxy.envelope):
        post_handoff("refunds")
    assert proxy.asked[0].body == {"from_actor": None, "to_actor": "refunds"}
