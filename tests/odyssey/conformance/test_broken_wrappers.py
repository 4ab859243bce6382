"""A wrapper that breaks one rule is told just that rule."""

import hmac
import json
import re
import threading
from contextlib import suppress
from typing import Any

import pytest
from wrappers import TOKEN, Dispatch, GoodWrapper, Json, Refusal, ToolReply, serving

from pipelines.cli.agent.conformance import reply_problems
from pipelines.odyssey.conformance import RULES, Options, Outcome, Report, Wrapper, check_wrapper

FAST = Options(slow_s=0.05, retry_after_s=0, at_once=3, reply_problems=reply_problems)


def report_on(wrapper: GoodWrapper, **changes: Any) -> Report:
    options = Options(**{name: getattr(FAST, name) for name in Options.__slots__} | changes)
    with serving(wrapper) as url:
        return check_wrapper(Wrapper(url=url, auth_value=f"Bearer {TOKEN}", timeout_s=10.0), options)


def test_a_wrapper_that_keeps_every_rule_passes_them_all():
    report = report_on(GoodWrapper())
    assert [finding for finding in report.findings if finding.outcome is not Outcome.PASSED] == []
    assert [finding.rule for finding in report.findings] == list(RULES)


class RefusesEverybody(GoodWrapper):
    def authenticate(self, headers: dict[str, str]) -> None:
        raise Refusal(403, "nobody")


class LetsEverybodyIn(GoodWrapper):
    def authenticate(self, headers: dict[str, str]) -> None:
        pass


class WorksBeforeItRefuses(GoodWrapper):
    """401, but the agent has run by then."""

    def handle(self, raw: bytes, headers: dict[str, str]) -> tuple[int, Json]:
        if not headers.get("authorization"):
            with suppress(Refusal):
                self.answer(self.read(self.parse(raw), headers))
        return super().handle(raw, headers)


class ComparesTheBeginning(GoodWrapper):
    def authenticate(self, headers: dict[str, str]) -> None:
        if not headers.get("authorization", "").startswith(f"Bearer {TOKEN}"):
            raise Refusal(401, "who are you?")


class ComparesText(GoodWrapper):
    def authenticate(self, headers: dict[str, str]) -> None:
        if not hmac.compare_digest(headers.get("authorization", ""), f"Bearer {TOKEN}"):
            raise Refusal(401, "who are you?")


class PingsFirst(GoodWrapper):
    def handle(self, raw: bytes, headers: dict[str, str]) -> tuple[int, Json]:
        return (200, {"ok": True}) if raw == b'{"ping": true}' else super().handle(raw, headers)


class KnowsNoPing(GoodWrapper):
    def pong(self) -> Json:
        raise Refusal(422, "field required: input")


class AlwaysFails(GoodWrapper):
    def answer(self, dispatch: Dispatch) -> Json:
        raise RuntimeError


class SaysNothing(GoodWrapper):
    def envelope(self, final: str, messages: list[Json]) -> Json:
        return {"final_response": " ", "messages": messages}


class AnswersOtherwise(GoodWrapper):
    def envelope(self, final: str, messages: list[Json]) -> Json:
        return {"output": final, "messages": messages}


class ForgetsCallIds(GoodWrapper):
    def envelope(self, final: str, messages: list[Json]) -> Json:
        for message in messages:
            message.pop("tool_call_id", None)
        return super().envelope(final, messages)


class ReadsAnotherField(GoodWrapper):
    def prompt(self, body: dict[str, Json], payload: Json) -> str:
        return str(body.get("prompt") or super().prompt(body, payload))


class ReadsTheHeaderAlone(GoodWrapper):
    def proxy_url(self, body: dict[str, Json], headers: dict[str, str]) -> str | None:
        return headers.get("x-pipelines-odyssey-proxy-url")


class ReadsTheBodyAlone(GoodWrapper):
    def proxy_url(self, body: dict[str, Json], headers: dict[str, str]) -> str | None:
        return body.get("odyssey_proxy_url")


class KeepsTheSlash(GoodWrapper):
    def url_of(self, dispatch: Dispatch, tool: str) -> str:
        return f"{self.proxy_url(dispatch.body, dispatch.headers)}/tools/{tool}"


class ForbidsExtraFields(GoodWrapper):
    def read(self, body: dict[str, Json], headers: dict[str, str]) -> Dispatch:
        known = {"task_id", "run_id", "agent_id", "input", "odyssey_proxy_url", "run_token_jti"}
        if body.keys() - known - {"conformance_padding"}:
            raise Refusal(422, "extra fields are not permitted")
        return super().read(body, headers)


class DecodesLatin1(GoodWrapper):
    def prompt(self, body: dict[str, Json], payload: Json) -> str:
        return super().prompt(body, payload).encode().decode("latin-1")


class TakesSmallBodies(GoodWrapper):
    def handle(self, raw: bytes, headers: dict[str, str]) -> tuple[int, Json]:
        if len(raw) > 100_000:
            raise Refusal(413, "too large")
        return super().handle(raw, headers)


class CrashesOnBrokenBodies(GoodWrapper):
    def parse(self, raw: bytes) -> Json:
        return json.loads(raw)


class CrashesWithoutAProxy(GoodWrapper):
    def read(self, body: dict[str, Json], headers: dict[str, str]) -> Dispatch:
        if "odyssey_proxy_url" not in body and "x-pipelines-odyssey-proxy-url" not in headers:
            raise KeyError
        return super().read(body, headers)


class LosesThePath(GoodWrapper):
    """urljoin(proxy_url, "/tools/…") does this."""

    def url_of(self, dispatch: Dispatch, tool: str) -> str:
        return re.sub(r"/api/.*", f"/tools/{tool}", dispatch.proxy_url)

    def unwrap(self, reply: ToolReply) -> Json:
        return {}


class SendsNoToken(GoodWrapper):
    """As one does that looks for the token in the body."""

    def request(self, dispatch: Dispatch, tool: str, arguments: Json) -> tuple[str, dict[str, str]]:
        return json.dumps(arguments), {"Authorization": f"Bearer {dispatch.body.get('run_token')}"}


class WrapsTheArguments(GoodWrapper):
    def request(self, dispatch: Dispatch, tool: str, arguments: Json) -> tuple[str, dict[str, str]]:
        return super().request(dispatch, tool, {"name": tool, "arguments": arguments})


class SendsAList(GoodWrapper):
    def request(self, dispatch: Dispatch, tool: str, arguments: Json) -> tuple[str, dict[str, str]]:
        return super().request(dispatch, tool, list(arguments.values()))


class ForwardsTheEnvelope(GoodWrapper):
    def unwrap(self, reply: ToolReply) -> Json:
        return reply.body


class SpeaksOfTheEnvelope(ForwardsTheEnvelope):
    """Without a transcript, what the agent says gives it away."""

    def envelope(self, final: str, messages: list[Json]) -> Json:
        results = [message["content"] for message in messages if message["role"] == "tool"]
        return {"final_response": f"{final} {results}"}


class RaisesOnErrors(GoodWrapper):
    def unwrap(self, reply: ToolReply) -> Json:
        if reply.status >= 400:
            raise RuntimeError
        return super().unwrap(reply)


class IgnoresTheRateLimit(GoodWrapper):
    def is_retried(self, reply: ToolReply) -> bool:
        return reply.status == 503 and super().is_retried(reply)


class RetriesOnlyTheRateLimit(GoodWrapper):
    def is_retried(self, reply: ToolReply) -> bool:
        return reply.status == 429


class RetriesEveryFailure(GoodWrapper):
    def is_retried(self, reply: ToolReply) -> bool:
        return reply.status == 429 or reply.status >= 500


class RetriesOnceUnderOneKey(RetriesEveryFailure):
    """Twice could be the agent's own decision; the key says that it is not."""

    tries = 2

    def request(self, dispatch: Dispatch, tool: str, arguments: Json) -> tuple[str, dict[str, str]]:
        body, headers = super().request(dispatch, tool, arguments)
        return body, headers | {"Idempotency-Key": dispatch.token}


class IsImpatient(GoodWrapper):
    tool_timeout_s = 1.0

    def call(self, dispatch: Dispatch, tool: str, arguments: dict[str, Json]) -> Json:
        try:
            return super().call(dispatch, tool, arguments)
        except TimeoutError:
            return {}


class KeepsTheFirstToken(GoodWrapper):
    token = ""

    def request(self, dispatch: Dispatch, tool: str, arguments: Json) -> tuple[str, dict[str, str]]:
        self.token = self.token or dispatch.token
        return super().request(dispatch._replace(token=self.token), tool, arguments)


class SharesTheLastToken(GoodWrapper):
    """Right as long as runs come one after the other."""

    token = ""

    def read(self, body: dict[str, Json], headers: dict[str, str]) -> Dispatch:
        dispatch = super().read(body, headers)
        self.token = dispatch.token
        return dispatch

    def request(self, dispatch: Dispatch, tool: str, arguments: Json) -> tuple[str, dict[str, str]]:
        return super().request(dispatch._replace(token=self.token), tool, arguments)


class SharesTheLastDispatch(GoodWrapper):
    """Proxy and token together, so that no call looks wrong by itself."""

    last: Dispatch | None = None

    def read(self, body: dict[str, Json], headers: dict[str, str]) -> Dispatch:
        self.last = super().read(body, headers)
        return self.last

    def post(self, dispatch: Dispatch, tool: str, arguments: dict[str, Json]) -> ToolReply:
        return super().post(self.last or dispatch, tool, arguments)


class SharesTheFirstProxy(GoodWrapper):
    first: Dispatch | None = None

    def post(self, dispatch: Dispatch, tool: str, arguments: dict[str, Json]) -> ToolReply:
        self.first = self.first or dispatch
        return super().post(self.first, tool, arguments)


BROKEN = [
    (RefusesEverybody, "auth.accepted"),
    (LetsEverybodyIn, "auth.required"),
    (WorksBeforeItRefuses, "auth.required"),
    (ComparesTheBeginning, "auth.wrong"),
    (PingsFirst, "auth.before_ping"),
    (KnowsNoPing, "ping.answered"),
    (AlwaysFails, "response.status"),
    (SaysNothing, "response.final_response"),
    (AnswersOtherwise, "response.final_response"),
    (ForgetsCallIds, "response.shape"),
    (ReadsAnotherField, "envelope.instruction"),
    (ReadsTheHeaderAlone, "envelope.proxy_from_body"),
    (ReadsTheBodyAlone, "envelope.proxy_from_header"),
    (KeepsTheSlash, "envelope.trailing_slash"),
    (ForbidsExtraFields, "envelope.unknown_fields"),
    (DecodesLatin1, "envelope.unicode"),
    (TakesSmallBodies, "envelope.large"),
    (LosesThePath, "tools.path"),
    (SendsNoToken, "tools.bearer"),
    (WrapsTheArguments, "tools.json_body"),
    (SendsAList, "tools.json_body"),
    (ForwardsTheEnvelope, "tools.unwrapped"),
    (SpeaksOfTheEnvelope, "tools.unwrapped"),
    (RaisesOnErrors, "tools.error_survived"),
    (RetriesEveryFailure, "tools.injected_not_retried"),
    (RetriesOnceUnderOneKey, "tools.injected_not_retried"),
    (IsImpatient, "tools.slow_reply"),
    (KeepsTheFirstToken, "runs.isolated"),
    (SharesTheLastToken, "runs.isolated"),
    (SharesTheLastDispatch, "runs.isolated"),
    (SharesTheFirstProxy, "runs.isolated"),
]


@pytest.mark.parametrize(("broken", "rule"), BROKEN, ids=lambda value: getattr(value, "__name__", value))
def test_the_rule_that_is_broken_is_the_one_that_is_told(broken: type[GoodWrapper], rule: str):
    report = report_on(broken(), **({"slow_s": 30.0} if broken is IsImpatient else {}))
    assert report.failed == (rule,), [finding for finding in report.findings if finding.outcome == "failed"]
    assert not report.ok


def test_runs_that_mix_are_found_every_time():
    for _ in range(10):
        report = report_on(SharesTheLastDispatch())
        assert "runs.isolated" in report.failed


class SharesAndNeverRetries(SharesTheLastDispatch):
    """One call, never tried again: whether it would have gone astray cannot be seen."""

    tries = 1


def test_where_nothing_could_be_seen_isolation_is_not_passed():
    for wrapper in (SharesAndNeverRetries(), IgnoresTheRateLimit()):
        (found,) = [finding for finding in report_on(wrapper).findings if finding.rule == "runs.isolated"]
        assert found.outcome is Outcome.NOT_OBSERVABLE
        assert "tools.retry_429" in found.found


class ThinksTogether(SharesTheLastDispatch):
    """All dispatches are read before the first call: what each was told is lost to all but the last."""

    def __init__(self) -> None:
        self.read_all = threading.Barrier(FAST.at_once)

    def call(self, dispatch: Dispatch, tool: str, arguments: dict[str, Json]) -> Json:
        with suppress(threading.BrokenBarrierError):
            self.read_all.wait(0.1)
        self.read_all.reset()
        return super().call(dispatch, tool, arguments)


def test_calls_that_all_go_to_the_last_run_are_found():
    assert "runs.isolated" in report_on(ThinksTogether(), gather_s=1.0).failed


class OneAtATime(GoodWrapper):
    serves_at_once = False


class PrefersTheHeader(GoodWrapper):
    def proxy_url(self, body: dict[str, Json], headers: dict[str, str]) -> str | None:
        return headers.get("x-pipelines-odyssey-proxy-url") or body.get("odyssey_proxy_url")


class ParsesFirst(GoodWrapper):
    def handle(self, raw: bytes, headers: dict[str, str]) -> tuple[int, Json]:
        self.parse(raw)
        return super().handle(raw, headers)


class RunsOnThePing(GoodWrapper):
    def pong(self) -> Json:
        return {"final_response": "Which order?"}


class TriesOnceMore(GoodWrapper):
    """An agent that decides to: each time is a call of its own."""

    def call(self, dispatch: Dispatch, tool: str, arguments: dict[str, Json]) -> Json:
        result = super().call(dispatch, tool, arguments)
        return super().call(dispatch, tool, arguments) if "error" in result else result


class HurriesBack(GoodWrapper):
    def call(self, dispatch: Dispatch, tool: str, arguments: dict[str, Json]) -> Json:
        reply = self.post(dispatch, tool, arguments)
        return self.unwrap(self.post(dispatch, tool, arguments) if self.is_retried(reply) else reply)


class NumbersCallsTwice(GoodWrapper):
    """A transcript that can be read, with something odd in it."""

    def envelope(self, final: str, messages: list[Json]) -> Json:
        messages = [
            message | {"tool_call_id": "c2"} if message["role"] == "tool" else message for message in messages
        ]
        return super().envelope(final, messages)


WARNED = [
    (ComparesText, "auth.non_ascii", {}),
    (CrashesOnBrokenBodies, "envelope.malformed", {}),
    (CrashesWithoutAProxy, "envelope.malformed", {}),
    (IgnoresTheRateLimit, "tools.retry_429", {}),
    (RetriesOnlyTheRateLimit, "tools.retry_503", {}),
    (OneAtATime, "runs.concurrent", {"gather_s": 0.3}),
    (PrefersTheHeader, "envelope.body_before_header", {}),
    (ParsesFirst, "auth.before_parsing", {}),
    (RunsOnThePing, "ping.answered", {}),
    (TriesOnceMore, "tools.injected_not_retried", {}),
    (HurriesBack, "tools.retry_after", {"retry_after_s": 1}),
    (NumbersCallsTwice, "response.shape", {}),
]


@pytest.mark.parametrize(
    ("odd", "rule", "changes"), WARNED, ids=[f"{odd.__name__}-{rule}" for odd, rule, _ in WARNED]
)
def test_what_is_allowed_but_costs_something_is_a_warning(odd: type[GoodWrapper], rule: str, changes: Json):
    report = report_on(odd(), **changes)
    assert report.failed == ()
    assert report.of(Outcome.WARNED) == (rule,)


class AsTheReferenceDoes(OneAtATime, ComparesText, CrashesOnBrokenBodies, IgnoresTheRateLimit):
    """What the wrapper of the product's own page does: text is compared, bodies are read unguarded, nothing
    is tried again, errors are handed on as text, and one dispatch is worked on at a time."""

    def prompt(self, body: dict[str, Json], payload: Json) -> str:
        return (payload or {}).get("user_instruction") or ""

    def is_retried(self, reply: ToolReply) -> bool:
        return False

    def unwrap(self, reply: ToolReply) -> Json:
        return {"error": json.dumps(reply.body)} if reply.status >= 400 else reply.body["response"]

    def envelope(self, final: str, messages: list[Json]) -> Json:
        return {"final_response": final}


def test_the_reference_wrapper_gets_warnings_at_most():
    report = report_on(AsTheReferenceDoes(), gather_s=0.3)
    assert report.failed == (), [finding for finding in report.findings if finding.outcome == "failed"]
    assert set(report.of(Outcome.WARNED)) == {
        "auth.non_ascii",
        "envelope.malformed",
        "tools.retry_429",
        "tools.retry_503",
        "runs.concurrent",
    }


def test_every_rule_has_a_wrapper_that_breaks_it():
    told = {rule for _, rule in BROKEN} | {rule for _, rule, _ in WARNED}
    assert told == set(RULES)
