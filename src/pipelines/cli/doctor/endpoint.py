"""Checks of a running agent: authentication, the ping, and whether the proxy can be reached."""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx2

from pipelines.cli.client import uses_proxies
from pipelines.cli.doctor.findings import Finding, ok, problem, warning
from pipelines.wire.envelope import PING_BODY
from pipelines.wire.names import PROXY_BASE

PING_TIMEOUT_S = 15.0  # a ping does no work
NO_KEEPALIVE = httpx2.Limits(max_keepalive_connections=0)
REFUSED = (401, 403)
PROBE = f"{PROXY_BASE}/tools/__reachability_probe__"
NOT_ASCII = b"Bearer \xc3\xa9\xff"  # anyone can send it, and comparing it as text raises in Python
AUTH, PING, HEADER = "auth", "ping", "auth header"
AUTH_FIRST = "compare the auth header before anything else; the SDK's register_dispatch_route does"
PING_SECOND = 'answer {"ping": true} with a 2xx after the auth check and before reading the dispatch'


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    url: str
    header_name: str
    header_value: str | None  # None: not known, so only strangers can be played
    post_paths: tuple[str, ...] = ()  # what the app says it serves


class NoAnswer(Exception):
    """The endpoint does not answer; the message says why."""


def endpoint_findings(endpoint: Endpoint) -> Iterator[Finding]:
    # A crash closes its connection: the next question on the same one may find it gone, the agent being well.
    with httpx2.Client(
        timeout=PING_TIMEOUT_S, trust_env=uses_proxies(endpoint.url), limits=NO_KEEPALIVE
    ) as client:
        try:
            yield from _check_auth(client, endpoint)
            yield from _check_non_ascii_header(client, endpoint)
            yield from _check_ping(client, endpoint)
        except NoAnswer as silent:
            yield problem(
                PING, f"{endpoint.url} does not answer: {silent}", "is it running, on this host and port?"
            )


def _post(
    client: httpx2.Client, endpoint: Endpoint, value: str | bytes | None, body: object
) -> httpx2.Response:
    headers = {} if value is None else {endpoint.header_name: value}
    try:
        return client.post(endpoint.url, json=body, headers=headers)  # type: ignore[arg-type]
    except httpx2.TimeoutException:
        raise NoAnswer(f"nothing within {PING_TIMEOUT_S:.0f} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise NoAnswer(str(error) or type(error).__name__) from None


def _check_auth(client: httpx2.Client, endpoint: Endpoint) -> Iterator[Finding]:
    strangers = {"a wrong token": "Bearer not-the-token", "no token": None}
    let_in = False
    for who, value in strangers.items():
        status = _post(client, endpoint, value, PING_BODY).status_code
        if status in REFUSED:
            continue
        let_in = True
        if status >= 300:
            yield _unexpected_status(endpoint, who, status)
            return  # the rest would only say it again
        is_checked = _post(client, endpoint, value, {"not": "a dispatch"}).status_code in REFUSED
        if is_checked:
            yield problem(
                AUTH, f"a ping with {who} is answered {status}: the ping comes before the auth", AUTH_FIRST
            )
        else:
            yield problem(AUTH, f"a caller with {who} is let in ({status}): anyone can dispatch", AUTH_FIRST)
    if not let_in:
        yield ok(AUTH, "a wrong token and no token are refused, also for a ping")


def _unexpected_status(endpoint: Endpoint, who: str, status: int) -> Finding:
    seen = f"a ping with {who} gets {status} instead of 401"
    if status in (404, 405):
        served = f"; it takes POST at {', '.join(endpoint.post_paths)}" if endpoint.post_paths else ""
        return problem(
            AUTH, f"{endpoint.url} answers {status}", f"check the path of endpoint_url in agent.json{served}"
        )
    if status < 400:
        return problem(
            AUTH, f"{seen}: a redirect, which a dispatch does not follow", "register the final URL"
        )
    return problem(AUTH, seen, AUTH_FIRST)


def _check_non_ascii_header(client: httpx2.Client, endpoint: Endpoint) -> Iterator[Finding]:
    status = _post(client, endpoint, NOT_ASCII, PING_BODY).status_code
    if status in REFUSED or status == 400:  # some servers refuse such a header themselves
        yield ok(HEADER, f"a header that is not ASCII is refused ({status})")
    elif status >= 500:
        change = "compare bytes: hmac.compare_digest(given.encode(), expected.encode())"
        yield warning(HEADER, f"a header that is not ASCII crashes the agent ({status})", change)


def _check_ping(client: httpx2.Client, endpoint: Endpoint) -> Iterator[Finding]:
    if endpoint.header_value is None:
        yield warning(
            PING, "not tried: the agent's token is not known here", "set AGENT_TOKEN, or see --token-env"
        )
        return
    answer = _post(client, endpoint, endpoint.header_value, PING_BODY)
    status = answer.status_code
    if not answer.is_success:
        yield problem(
            PING, f"a ping with the right token gets {status}: {answer.text[:120]}", _ping_hint(status)
        )
    elif "html" in answer.headers.get("content-type", "").lower():
        yield problem(PING, "the answer is an HTML page, not an agent's", "check the endpoint's URL")
    elif "final_response" in answer.text:
        yield warning(PING, "the agent ran on the ping as if it were a dispatch", PING_SECOND)
    else:
        yield ok(PING, f"answered {status}")


def _ping_hint(status: int) -> str:
    if status in REFUSED:
        return "does the agent read its token from another variable? Name it: --token-env NAME"
    if status == 404:
        return "check the path of endpoint_url in agent.json"
    return PING_SECOND


def probe_finding(server: str, *, is_named: bool) -> Finding:
    """Whether the proxy can be reached from here: the expected answer to an invalid token is 401."""
    check, url = "proxy", server.rstrip("/") + PROBE
    try:
        status = httpx2.post(
            url,
            json={},
            headers={"Authorization": "Bearer fake-token"},
            timeout=PING_TIMEOUT_S,
            trust_env=uses_proxies(server),
        ).status_code
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        seen = f"{server} cannot be reached from here: {str(error) or type(error).__name__}"
        if is_named:
            return problem(check, seen, "allow connections from this machine to it, or correct --server")
        return warning(check, seen, "start one with `pipelines up`, or name yours with --server")
    if status == 401:
        return ok(check, f"{server} is reached and refuses a made-up token (401)")
    return problem(check, f"{url} answers {status} instead of 401", "is --server an Odyssey server?")
