"""Tool calls over real sockets: what is sent, what comes back, what is tried again and what never is."""

import asyncio
import os
import pickle
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from scripted_proxy import (
    DONE,
    RATE_LIMITED,
    STORAGE_AWAY,
    TOKEN,
    Dropped,
    Reply,
    Silence,
    envelope_of,
    injected,
    platform_error,
    scripted,
    tool_reply,
)

from pipelines.odyssey import (
    Envelope,
    NoCurrentEnvelope,
    ProxyRefused,
    ProxyUnavailable,
    ToolFailed,
    async_proxy_call,
    async_proxy_call_with,
    current_or_none,
    proxy_call,
    proxy_call_with,
    run_async_in_thread,
    set_current,
)

ORDER = {"order_id": "4521"}
Call = Callable[..., Any]


def by_async(envelope: Envelope, tool: str, arguments: Any = None, **options: Any) -> Any:
    return asyncio.run(async_proxy_call_with(envelope, tool, arguments, **options))


@pytest.fixture(params=[proxy_call_with, by_async], ids=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Call:
    found: Call = request.param
    return found


def test_a_call_posts_the_arguments_and_returns_what_the_tool_said(call: Call) -> None:
    with scripted(DONE) as proxy:
        assert call(proxy.envelope, "get_order", ORDER) == {"status": "shipped"}
    (asked,) = proxy.asked
    assert asked.path == "/api/odyssey-proxy/runs/abc/tools/get_order"
    assert asked.body == ORDER
    assert asked.headers["authorization"] == f"Bearer {TOKEN}"
    assert asked.headers["content-type"] == "application/json"
    assert len(asked.headers["idempotency-key"]) == 32
    assert "x-pipelines-actor-id" not in asked.headers


@pytest.mark.parametrize("response", ["pong", None, 0, [], [1, {"a": "ü"}], {"response": {"response": 1}}])
def test_any_json_comes_back_as_it_is(response: Any) -> None:
    with scripted(tool_reply(response)) as proxy:
        assert proxy_call_with(proxy.envelope, "get_order") == response
        assert proxy.asked[0].body == {}


def test_a_base_url_may_end_with_a_slash_and_a_name_is_one_part_of_the_path() -> None:
    with scripted(DONE) as proxy:
        proxy_call_with(envelope_of(f"{proxy.url}/base/"), "no/such tool?", ORDER)
    assert proxy.asked[0].path == "/base/tools/no%2Fsuch%20tool%3F"


def test_each_call_has_a_key_of_its_own() -> None:
    with scripted(DONE) as proxy:
        for _ in range(3):
            proxy_call_with(proxy.envelope, "get_order", ORDER)
    assert len(set(proxy.keys)) == 3


TEMPORARY = {"rate limited": RATE_LIMITED, "storage away": STORAGE_AWAY, "dropped": Dropped()}


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("trouble", TEMPORARY.values(), ids=TEMPORARY)
def test_conditions_of_the_platform_are_tried_again_under_the_same_key(call: Call, trouble: Any) -> None:
    with scripted(trouble, trouble, trouble, DONE) as proxy:
        assert call(proxy.envelope, "get_order", ORDER) == {"status": "shipped"}
    assert len(proxy.asked) == 4
    assert len(set(proxy.keys)) == 1
    assert [asked.body for asked in proxy.asked] == [ORDER] * 4


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("trouble", TEMPORARY.values(), ids=TEMPORARY)
def test_after_four_tries_the_proxy_is_unavailable(call: Call, trouble: Any) -> None:
    with scripted(trouble) as proxy, pytest.raises(ProxyUnavailable) as raised:
        call(proxy.envelope, "get_order", ORDER)
    assert len(proxy.asked) == 4
    assert not isinstance(raised.value, ProxyRefused)
    assert "get_order was not answered" in str(raised.value)
    assert TOKEN not in str(raised.value)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_an_injected_failure_is_never_tried_again(call: Call, status: int) -> None:
    with scripted(injected(status), DONE) as proxy, pytest.raises(ToolFailed) as raised:
        call(proxy.envelope, "get_order", ORDER)
    assert len(proxy.asked) == 1
    failed = raised.value
    assert (failed.tool, failed.status, failed.source) == ("get_order", status, "injected")
    assert failed.response == {"error": {"code": status, "message": "Payment processor unavailable"}}


def test_an_injected_success_is_a_success() -> None:
    with scripted(tool_reply({"partial": True}, source="injected")) as proxy:
        assert proxy_call_with(proxy.envelope, "get_order") == {"partial": True}


def test_a_backend_that_says_no_is_a_failed_tool(call: Call) -> None:
    said = {"error": "order not found"}
    with scripted(tool_reply(said, status=404)) as proxy, pytest.raises(ToolFailed) as raised:
        call(proxy.envelope, "get_order", {"order_id": "1"})
    assert (raised.value.status, raised.value.source, raised.value.response) == (404, "odyssey", said)
    assert len(proxy.asked) == 1


def test_a_failed_tool_survives_a_process_boundary() -> None:
    failed = ToolFailed("get_order", status=404, response={"error": "no"}, source="odyssey")
    again = pickle.loads(pickle.dumps(failed))
    assert (again.tool, again.status, again.response, again.source) == (
        "get_order",
        404,
        {"error": "no"},
        "odyssey",
    )
    assert str(again) == str(failed)


NO_TOOL_SPOKE = {
    "a wrong token": (platform_error(401, "invalid_run_token"), "what invalid_run_token means"),
    "a web page": (Reply(200, b"<html>hello</html>"), "is odyssey_proxy_url right?"),
    "a fault": (Reply(500, b"oops"), "is odyssey_proxy_url right?"),
    "somewhere else": (Reply(307, b"", (("Location", "http://127.0.0.1/"),)), "HTTP 307"),
    "other JSON": (Reply(200, {"ok": True}), "is odyssey_proxy_url right?"),
}


@pytest.mark.parametrize(("reply", "words"), NO_TOOL_SPOKE.values(), ids=NO_TOOL_SPOKE)
def test_what_is_no_tool_reply_is_told_and_not_tried_again(call: Call, reply: Reply, words: str) -> None:
    with scripted(reply) as proxy, pytest.raises(ProxyRefused) as raised:
        call(proxy.envelope, "get_order", ORDER)
    assert len(proxy.asked) == 1
    assert words in str(raised.value)
    assert raised.value.status == reply.status


@pytest.mark.usefixtures("at_once")
def test_nobody_there_is_told_with_the_address(call: Call) -> None:
    with scripted(DONE) as proxy:
        pass
    with pytest.raises(ProxyUnavailable, match=r"no connection to 127\.0\.0\.1:\d+"):
        call(proxy.envelope, "get_order", ORDER)


@pytest.mark.parametrize("url", ["", "proxy.example.com/runs/abc", "ftp://proxy.example.com", "http://"])
def test_a_url_that_is_none_is_told(url: str) -> None:
    with pytest.raises(ProxyUnavailable, match="is not an http or https URL"):
        proxy_call_with(envelope_of(url), "get_order", ORDER)


def test_a_tool_that_never_answers_is_given_up_after_its_time(call: Call) -> None:
    with scripted(Silence()) as proxy, pytest.raises(ProxyUnavailable, match=r"no answer within 0\.2 s"):
        call(proxy.envelope, "get_order", ORDER, timeout_s=0.2)
    assert len(proxy.asked) == 1


def test_the_wait_that_the_platform_asks_for_is_waited(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def async_sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("time.sleep", waits.append)
    monkeypatch.setattr("asyncio.sleep", async_sleep)
    with scripted(platform_error(429, "rate_limited", retry_after_s=17), RATE_LIMITED, DONE) as proxy:
        call(proxy.envelope, "get_order", ORDER)
    assert 17 <= waits[0] <= 17.5
    assert 1.0 <= waits[1] <= 1.5


BAD_ARGUMENTS = {"a set": {"ids": {1, 2}}, "not a number": {"x": float("nan")}, "bytes": {"x": b"1"}}


@pytest.mark.parametrize("arguments", BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS)
def test_arguments_that_are_no_json_are_told_before_anything_is_sent(call: Call, arguments: Any) -> None:
    with (
        scripted(DONE) as proxy,
        pytest.raises(TypeError, match="the arguments of get_order cannot be written"),
    ):
        call(proxy.envelope, "get_order", arguments)
    assert not proxy.asked


def test_a_call_without_a_name_is_told() -> None:
    with pytest.raises(ValueError, match="needs the tool's name"):
        proxy_call_with(envelope_of("http://127.0.0.1:9"), "", ORDER)


# -- connections


def test_calls_of_a_thread_share_a_connection() -> None:
    with scripted(DONE) as proxy:
        for _ in range(5):
            proxy_call_with(proxy.envelope, "get_order", ORDER)
    assert proxy.connections == 1


def test_a_connection_that_the_server_closed_is_replaced_without_a_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    with scripted(DONE, Dropped(), DONE) as proxy:
        proxy_call_with(proxy.envelope, "get_order", ORDER)
        # The kept connection breaks under this call.
        assert proxy_call_with(proxy.envelope, "get_order", ORDER) == {"status": "shipped"}
    assert waits == []
    assert len(proxy.asked) == 3
    assert proxy.keys[1] == proxy.keys[2] != proxy.keys[0]
    assert proxy.asked[1].connection != proxy.asked[2].connection


def test_a_reply_that_says_close_ends_the_connection() -> None:
    with scripted(DONE._replace(headers=(("Connection", "close"),))) as proxy:
        for _ in range(2):
            proxy_call_with(proxy.envelope, "get_order", ORDER)
    assert proxy.connections == 2


def test_threads_at_once_do_not_share_a_connection() -> None:
    start = threading.Barrier(8)
    results: list[Any] = []

    def work(envelope: Envelope) -> None:
        start.wait(30)
        for _ in range(20):
            results.append(proxy_call_with(envelope, "get_order", ORDER))

    with scripted(DONE) as proxy:
        threads = [threading.Thread(target=work, args=[proxy.envelope]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [{"status": "shipped"}] * 160
    assert proxy.connections <= 8


def test_a_forked_process_opens_connections_of_its_own() -> None:
    with scripted(DONE) as proxy:
        proxy_call_with(proxy.envelope, "get_order", ORDER)
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons dislike a fork beside threads
            child = os.fork()
        if child == 0:
            from pipelines.odyssey.transport import _pool

            os.write(write, str(len(_pool._idle)).encode())
            os._exit(0)
        os.close(write)
        assert os.read(read, 10) == b"0"
        os.close(read)
        os.waitpid(child, 0)
        proxy_call_with(proxy.envelope, "get_order", ORDER)
    assert proxy.connections == 1


def test_async_calls_go_on_at_the_same_time() -> None:
    """Each of them is answered only when all have come: one after the other they would never end."""
    together = threading.Barrier(6, timeout=30)

    async def six(envelope: Envelope) -> list[Any]:
        return await asyncio.gather(*(async_proxy_call_with(envelope, "get_order", ORDER) for _ in range(6)))

    with scripted(DONE) as proxy:
        take = proxy.next_reply

        def when_all_came(asked: Any) -> Any:
            together.wait()
            return take(asked)

        proxy.next_reply = when_all_came  # type: ignore[method-assign]
        assert asyncio.run(six(proxy.envelope)) == [{"status": "shipped"}] * 6


# -- forward proxies of the environment


def test_a_forward_proxy_gets_the_whole_address_and_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(DONE) as forward:
        monkeypatch.setenv("http_proxy", forward.url.replace("http://", "http://me:pass%20word@"))
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        envelope = envelope_of("http://odyssey.example.com/api/odyssey-proxy")
        assert proxy_call_with(envelope, "get_order", ORDER) == {"status": "shipped"}
    (asked,) = forward.asked
    assert asked.path == "http://odyssey.example.com/api/odyssey-proxy/tools/get_order"
    assert asked.headers["proxy-authorization"] == "Basic bWU6cGFzcyB3b3Jk"
    assert asked.headers["host"] == "odyssey.example.com"


def test_this_machine_is_reached_without_a_forward_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with scripted(DONE) as proxy:
        assert proxy_call_with(proxy.envelope, "get_order", ORDER) == {"status": "shipped"}


# -- the current envelope


def test_calls_belong_to_the_current_envelope() -> None:
    with scripted(DONE) as proxy:
        with set_current(proxy.envelope):
            proxy_call("get_order", ORDER)
            asyncio.run(async_proxy_call("get_order", ORDER))
        assert current_or_none() is None
    assert len(proxy.asked) == 2


def test_the_innermost_envelope_counts_and_the_outer_comes_back() -> None:
    outer, inner = envelope_of("http://outer"), envelope_of("http://inner")
    with set_current(outer):
        with suppress(KeyError), set_current(inner):
            assert current_or_none() is inner
            raise KeyError
        assert current_or_none() is outer


def test_a_thread_without_an_envelope_is_told_what_to_do() -> None:
    raised: list[BaseException] = []

    def work() -> None:
        try:
            proxy_call("get_order", ORDER)
        except NoCurrentEnvelope as error:
            raised.append(error)

    with set_current(envelope_of("http://127.0.0.1:9")):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert "A thread started by hand does not inherit it" in str(raised[0])
    assert "set_current(envelope)" in str(raised[0])


def test_actors_are_told_in_a_header() -> None:
    with scripted(DONE) as proxy:
        supervisor = proxy.envelope.for_actor("supervisor")
        proxy_call_with(supervisor, "get_order", {"actor_id": "an argument"})
        proxy_call_with(supervisor.for_actor("refunds"), "get_order", ORDER)
    assert [asked.headers["x-pipelines-actor-id"] for asked in proxy.asked] == [
        "supervisor",
        "supervisor/refunds",
    ]
    assert proxy.asked[0].body == {"actor_id": "an argument"}


def test_async_code_on_a_thread_keeps_the_envelope_while_a_loop_runs() -> None:
    async def main() -> Any:
        # Sync code inside a running loop: asyncio.run would refuse here.
        return run_async_in_thread(lambda: async_proxy_call("get_order", ORDER))

    with scripted(DONE) as proxy, set_current(proxy.envelope):
        assert asyncio.run(main()) == {"status": "shipped"}


def test_what_the_coroutine_raises_is_raised_to_the_caller() -> None:
    async def fails() -> None:
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        run_async_in_thread(fails)
