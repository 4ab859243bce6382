"""The address guard: which addresses are refused under which policy, however they are spelled or resolved."""

import socket
import ssl

import pytest
from httpcore2 import ConnectError
from hypothesis import given
from hypothesis import strategies as st
from raw_agents import raw_agent, replies

from pipelines.outbound.address_guard import AddressPolicy, AddressRefused, GuardedBackend, system_resolver
from pipelines.outbound.agent_client import AgentClient, AgentTarget, Dispatched, DispatchFailed
from pipelines.wire.envelope import Envelope

PRODUCTION, PRIVATE_TOO = AddressPolicy(), AddressPolicy(allow_private=True)
PUBLIC = "93.184.215.14"
TLS = ssl.create_default_context()  # one for all: loading the certificates takes longer than a test
ENVELOPE = Envelope(
    run_id=1,
    task_id=1,
    agent_id=1,
    user_instruction="Hello.",
    odyssey_proxy_url="http://127.0.0.1:8420/api/odyssey-proxy",
    run_token="token",
    run_token_jti="jti",
)


@pytest.fixture
def anyio_backend():
    return "asyncio"


# Refused in production; refused also where private addresses are allowed.
ADDRESSES = {
    "public": (PUBLIC, False, False),
    "public, IPv6": ("2606:4700:4700::1111", False, False),
    "public, mapped": (f"::ffff:{PUBLIC}", False, False),
    "public, behind NAT64": ("64:ff9b::5db8:d70e", False, False),
    "public, 6to4": ("2002:5db8:d70e::1", False, False),
    "loopback": ("127.0.0.1", True, False),
    "all of loopback": ("127.255.255.254", True, False),
    "loopback, IPv6": ("::1", True, False),
    "loopback, mapped": ("::ffff:127.0.0.1", True, False),
    "loopback, mapped, in hex": ("::ffff:7f00:1", True, False),
    "loopback, 6to4": ("2002:7f00:1::", True, False),
    "loopback, behind NAT64": ("64:ff9b::7f00:1", True, False),
    "any": ("0.0.0.0", True, False),
    "any, IPv6": ("::", True, False),
    "private 10": ("10.1.2.3", True, False),
    "private 172.16": ("172.31.255.255", True, False),
    "private 192.168": ("192.168.0.1", True, False),
    "shared (CGNAT)": ("100.64.0.1", True, False),
    "unique local": ("fd12:3456::1", True, False),
    "site-local": ("fec0::1", True, False),
    "benchmark": ("198.18.0.1", True, False),
    "documentation": ("192.0.2.1", True, False),
    "documentation, IPv6": ("2001:db8::1", True, False),
    "6to4 relay": ("192.88.99.1", True, False),
    "private behind Teredo": ("2001:0:4136:e378:8000:63bf:f5ff:fffe", True, False),
    "metadata": ("169.254.169.254", True, True),
    "metadata, mapped": ("::ffff:169.254.169.254", True, True),
    "metadata, mapped, in hex": ("::ffff:a9fe:a9fe", True, True),
    "metadata, 6to4": ("2002:a9fe:a9fe::1", True, True),
    "metadata, behind NAT64": ("64:ff9b::a9fe:a9fe", True, True),
    "metadata behind Teredo": ("2001:0:4136:e378:8000:63bf:5601:5601", True, True),
    "metadata of AWS, IPv6": ("fd00:ec2::254", True, True),
    "metadata of Alibaba": ("100.100.100.200", True, True),
    "metadata of Azure, a public address": ("168.63.129.16", True, True),
    "metadata of Oracle": ("192.0.0.192", True, True),
    "metadata of Google, IPv6": ("fd20:ce::254", True, True),
    "link-local": ("169.254.0.1", True, True),
    "link-local, IPv6": ("fe80::1", True, True),
    "link-local, IPv6, with a zone": ("fe80::1%eth0", True, True),
    "multicast": ("224.0.0.1", True, True),
    "multicast, IPv6": ("ff02::1", True, True),
    "broadcast": ("255.255.255.255", True, True),
    "reserved": ("240.0.0.1", True, True),
    "IPv4-compatible": ("::127.0.0.1", True, True),
    "no address": ("example.com", True, True),
}


@pytest.mark.parametrize(("address", "in_production", "ever"), ADDRESSES.values(), ids=ADDRESSES)
def test_addresses(address, in_production, ever):
    assert (PRODUCTION.refusal(address) is not None) == in_production
    assert (PRIVATE_TOO.refusal(address) is not None) == ever


@given(st.ip_addresses(v=4))
def test_a_wrapping_is_judged_like_what_it_wraps(address):
    number = int(address)
    high, low = number >> 16, number & 0xFFFF
    for policy in (PRODUCTION, PRIVATE_TOO):
        plain = policy.refusal(str(address))
        assert policy.refusal(f"::ffff:{address}") == plain
        assert policy.refusal(f"64:ff9b::{high:x}:{low:x}") == plain
        assert policy.refusal(f"2002:{high:x}:{low:x}::1") == plain


@given(st.ip_addresses())
def test_whatever_production_allows_is_allowed_everywhere(address):
    if PRODUCTION.refusal(str(address)) is None:
        assert PRIVATE_TOO.refusal(str(address)) is None


SPELLINGS = ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.1", "0", "localhost", "LocalHost"]
METADATA_SPELLINGS = ["2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518"]


@pytest.mark.anyio
@pytest.mark.parametrize("host", [*SPELLINGS, *METADATA_SPELLINGS])
async def test_spellings_of_this_machine_and_of_metadata_are_refused(host):
    with pytest.raises(AddressRefused, match=host):
        await GuardedBackend(PRODUCTION).connect_tcp(host, 80, timeout=5)


@pytest.mark.anyio
@pytest.mark.parametrize("host", METADATA_SPELLINGS)
async def test_metadata_is_refused_even_where_private_addresses_are_not(host):
    with pytest.raises(AddressRefused):
        await GuardedBackend(PRIVATE_TOO).connect_tcp(host, 80, timeout=5)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "host", [host for host in SPELLINGS if host != "0177.0.0.1"]
)  # no URL has octal ones
async def test_where_private_addresses_are_allowed_every_spelling_leads_to_the_agent(host):
    async with raw_agent(replies) as agent:
        client = AgentClient(PRIVATE_TOO, tls=TLS)
        outcome = await client.dispatch(AgentTarget(endpoint_url=agent.url(host)), ENVELOPE)
    assert isinstance(outcome, Dispatched)


@pytest.mark.anyio
async def test_a_unix_socket_is_refused():
    with pytest.raises(AddressRefused):
        await GuardedBackend(PRIVATE_TOO).connect_unix_socket("/run/docker.sock")


class ChangingNames:
    """A DNS server of the attacker's: another answer each time."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def __call__(self, host, port):
        self.asked.append((host, port))
        return self.answers.pop(0)


@pytest.mark.anyio
async def test_a_name_that_is_public_when_registered_and_private_when_called_is_refused():
    names = ChangingNames([PUBLIC], ["127.0.0.1"])
    client = AgentClient(PRODUCTION, resolver=names, tls=TLS)
    async with raw_agent(replies) as agent:
        url = agent.url("rebinding.example")
        assert await client.refusal(url) is None
        outcome = await client.dispatch(AgentTarget(endpoint_url=url), ENVELOPE)
    assert isinstance(outcome, DispatchFailed)
    assert (outcome.error_class, outcome.reached) == ("agent_unreachable", "no")
    assert outcome.detail == "rebinding.example is a loopback address, which this server does not call"
    assert outcome.hint is not None
    assert "PIPELINES_ALLOW_PRIVATE_ENDPOINTS" in outcome.hint
    assert agent.connections == 0


@pytest.mark.anyio
async def test_the_name_is_looked_up_once_and_the_address_that_was_judged_is_the_one_connected_to():
    names = ChangingNames(["127.0.0.1"], ["127.0.0.2"])
    async with raw_agent(replies) as agent:
        client = AgentClient(PRIVATE_TOO, resolver=names, tls=TLS)
        outcome = await client.dispatch(AgentTarget(endpoint_url=agent.url("agent.example")), ENVELOPE)
    assert isinstance(outcome, Dispatched)
    assert names.asked == [("agent.example", agent.port)]
    assert agent.requests[0].headers["host"] == f"agent.example:{agent.port}"


@pytest.mark.anyio
@pytest.mark.parametrize("addresses", [[PUBLIC, "10.0.0.1"], ["10.0.0.1", PUBLIC], [PUBLIC, "::1"]])
async def test_one_bad_address_among_good_ones_is_enough(addresses):
    with pytest.raises(AddressRefused):
        await GuardedBackend(PRODUCTION, ChangingNames(addresses)).connect_tcp("mixed.example", 80, timeout=5)


@pytest.mark.anyio
async def test_an_address_that_does_not_answer_gives_way_to_the_next():
    async with raw_agent(replies) as agent:
        client = AgentClient(PRIVATE_TOO, resolver=ChangingNames(["::1", "127.0.0.1"]), tls=TLS)
        outcome = await client.dispatch(AgentTarget(endpoint_url=agent.url("both.example")), ENVELOPE)
    assert isinstance(outcome, Dispatched)
    assert agent.connections == 1


@pytest.mark.anyio
@pytest.mark.parametrize("addresses", [[], ["not an address"]])
async def test_a_name_without_a_usable_address(addresses):
    with pytest.raises(ConnectError):
        await GuardedBackend(PRIVATE_TOO, ChangingNames(addresses)).connect_tcp("odd.example", 80, timeout=5)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("http://127.0.0.1:9100/dispatch", True),
        ("http://[::1]/", True),
        ("http://169.254.169.254/latest/meta-data/", True),
        (f"https://{PUBLIC}/dispatch", False),
        ("https://not-yet-there.invalid/dispatch", False),
    ],
)
async def test_what_registration_asks(url, refused):
    assert (await AgentClient(PRODUCTION, tls=TLS).refusal(url) is not None) == refused


@pytest.mark.anyio
async def test_the_system_resolver_gives_each_address_once():
    assert await system_resolver("127.0.0.1", 80) == ["127.0.0.1"]
    with pytest.raises(socket.gaierror):
        await system_resolver("no-such-host.invalid", 80)
