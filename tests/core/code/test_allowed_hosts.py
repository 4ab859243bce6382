"""Which hosts an entry of `allow_hosts` covers, and which entries and hosts are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.code.allowed_hosts import is_allowed, normalize_host, read_allow_hosts
from pipelines.core.text.problems import Problem

COVERED = {
    "a name, over TLS": ("api.example.com", "api.example.com", 443, True),
    "a name, plain": ("api.example.com", "api.example.com", 80, True),
    "a name, another port": ("api.example.com", "api.example.com", 8443, False),
    "a port of its own": ("api.example.com:8443", "api.example.com", 8443, True),
    "a port of its own alone": ("api.example.com:8443", "api.example.com", 443, False),
    "written in capitals": ("API.Example.COM", "api.example.com", 443, True),
    "asked in capitals, with a last dot": ("api.example.com", "API.example.com.", 443, True),
    "below a name": ("example.com", "api.example.com", 443, False),
    "a name that ends alike": ("example.com", "evilexample.com", 443, False),
    "a wildcard": ("*.example.com", "api.example.com", 443, True),
    "a wildcard, two levels": ("*.example.com", "a.b.example.com", 443, True),
    "a wildcard's own name": ("*.example.com", "example.com", 443, False),
    "a wildcard, nothing before the dot": ("*.example.com", ".example.com", 443, False),
    "a wildcard, ends alike": ("*.example.com", "evilexample.com", 443, False),
    "a wildcard, continued": ("*.example.com", "api.example.com.evil.net", 443, False),
    "localhost": ("localhost:9000", "localhost", 9000, True),
}
REFUSED = {
    "a whole top-level domain": ("*.com", "would allow a whole top-level domain"),
    "everything": ("*", "has a * that is not its whole first label"),
    "a star within": ("api.*.com", "has a * that is not its whole first label"),
    "an address": ("10.0.0.1", "is an IP address"),
    "an address, short": ("127.1", "is an IP address"),
    "an address as a number": ("2130706433", "is an IP address"),
    "an address in hex": ("0x7f.0.0.1", "is an IP address"),
    "an address of IPv6": ("[::1]:443", "is an IP address"),
    "a URL": ("https://api.example.com", "is a URL"),
    "a path": ("api.example.com/v1", "has a path"),
    "no ASCII": ("müller.example", "is not ASCII"),
    "an empty part": ("api..example.com", "empty or too long"),
    "a user": ("me@example.com", "has characters that are not allowed in a host name"),
    "port 0": ("api.example.com:0", "has an invalid port"),
    "a port too high": ("api.example.com:65536", "has an invalid port"),
}
NO_HOSTS = ("127.0.0.1", "::1", "127.1", "0x7f000001", "", "a%2eb", "a b", "x\r\n", "a..b", "user@x", "*.x.y")


@pytest.mark.parametrize(("entry", "host", "port", "is_covered"), COVERED.values(), ids=COVERED)
def test_an_entry_covers(entry: str, host: str, port: int, is_covered: bool) -> None:
    problems: list[Problem] = []
    hosts = read_allow_hosts([entry], "/allow_hosts", problems)
    assert problems == []
    asked = normalize_host(host)
    assert (asked is not None and is_allowed(hosts, asked, port)) == is_covered


def test_everything_wrong_is_said_at_once_with_its_place() -> None:
    problems: list[Problem] = []
    good = read_allow_hosts(
        ["ok.example", *(entry for entry, _ in REFUSED.values())], "/allow_hosts", problems
    )
    assert [host.name for host in good] == ["ok.example"]
    assert [problem.path for problem in problems] == [f"/allow_hosts/{n + 1}" for n in range(len(REFUSED))]
    for problem, (entry, said) in zip(problems, REFUSED.values(), strict=True):
        assert entry in problem.message
        assert said in problem.message
        assert problem.hint


@pytest.mark.parametrize("text", NO_HOSTS)
def test_what_no_host_name_is_spelled_like_is_no_host(text: str) -> None:
    assert normalize_host(text) is None


@given(st.text(max_size=40))
def test_whatever_is_asked_for_a_wildcard_covers_only_what_ends_so(host: str) -> None:
    hosts = read_allow_hosts(["*.example.com"], "", [])
    asked = normalize_host(host)
    if asked is not None and is_allowed(hosts, asked, 443):
        assert host.lower().removesuffix(".").endswith(".example.com")
