"""TLS to a pinned address: the certificate is still checked against the name."""

import asyncio
import datetime
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from mcp_servers import RawMcp
from raw_agents import hangs, raw_agent, replies

from pipelines.core.tools.live_tools import DiscoveredTool, LiveCallFailed
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.agent_client import AgentClient, AgentTarget, Dispatched, DispatchFailed
from pipelines.outbound.mcp.server import mcp_server_endpoint
from pipelines.wire.envelope import Envelope

pytestmark = pytest.mark.anyio

NAME = "agent.example"
ENVELOPE = Envelope(
    run_id=1,
    task_id=1,
    agent_id=1,
    user_instruction="Hello.",
    odyssey_proxy_url="https://range.example/api/odyssey-proxy",
    run_token="token",
    run_token_jti="jti",
)


async def every_name_is_this_machine(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


@pytest.fixture(scope="module")
def contexts(tmp_path_factory):
    """The agent's side with a certificate of its own for NAME, and ours trusting just that one."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "agent.pem"
    public = certificate.public_bytes(serialization.Encoding.PEM)
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + public
    )
    agent_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    agent_side.load_cert_chain(file)
    our_side = ssl.create_default_context(cadata=public.decode())
    return agent_side, our_side


async def dispatched(tls, url, timeout_s=20.0):
    client = AgentClient(AddressPolicy(allow_private=True), resolver=every_name_is_this_machine, tls=tls)
    return await client.dispatch(AgentTarget(endpoint_url=url, timeout_s=timeout_s), ENVELOPE)


async def test_the_certificate_is_checked_against_the_name_not_the_address(contexts):
    agent_side, our_side = contexts
    async with raw_agent(replies, agent_side) as agent:
        outcome = await dispatched(our_side, agent.url(NAME))
    assert isinstance(outcome, Dispatched)
    assert agent.requests[0].headers["host"] == f"{NAME}:{agent.port}"


@pytest.mark.parametrize(
    ("name", "trusts_it", "words"),
    [("other.example", True, "certificate is not valid"), (NAME, False, "certificate is not valid")],
    ids=["another name", "an unknown issuer"],
)
async def test_a_wrong_certificate_is_no_connection(contexts, name, trusts_it, words):
    agent_side, our_side = contexts
    async with raw_agent(replies, agent_side) as agent:
        outcome = await dispatched(our_side if trusts_it else ssl.create_default_context(), agent.url(name))
    assert isinstance(outcome, DispatchFailed)
    assert (outcome.error_class, outcome.reached) == ("agent_unreachable", "no")
    assert words in outcome.detail
    assert not agent.requests


async def test_https_to_an_agent_that_speaks_plain_http(contexts):
    async with raw_agent(replies) as agent:
        server = await asyncio.start_server(speak_plainly, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        outcome = await dispatched(contexts[1], f"https://{NAME}:{port}/")
        server.close()
    assert isinstance(outcome, DispatchFailed)
    assert (outcome.error_class, outcome.reached) == ("agent_unreachable", "no")
    assert "no TLS there" in outcome.detail
    assert not agent.requests


async def speak_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    writer.close()


async def test_a_handshake_that_never_ends_is_given_up_and_its_connection_closed(contexts):
    hung_up = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            pass
        hung_up.set()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    outcome = await dispatched(contexts[1], f"https://{NAME}:{port}/", timeout_s=0.25)
    assert isinstance(outcome, DispatchFailed)
    assert (outcome.error_class, outcome.reached) == ("agent_unreachable", "no")
    await asyncio.wait_for(hung_up.wait(), 5)
    server.close()


async def test_cancelling_closes_a_tls_connection_too(contexts):
    agent_side, our_side = contexts
    async with raw_agent(hangs, agent_side) as agent:
        task = asyncio.create_task(dispatched(our_side, agent.url(NAME)))
        await asyncio.wait_for(agent.asked.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(agent.left.wait(), 5)


@pytest.mark.parametrize("name", [NAME, "other.example"])
async def test_an_mcp_server_must_have_a_certificate_for_its_name(contexts, name):
    their_side, our_side = contexts
    async with raw_agent(RawMcp().serve, tls=their_side) as server:
        called = mcp_server_endpoint(
            config={"url": server.url(name)},
            auth_headers={},
            policy=AddressPolicy(allow_private=True),
            resolver=every_name_is_this_machine,
            tls=our_side,
        )
        echo = DiscoveredTool(name="echo", description="", input_schema={}, call={"name": "echo"})
        if name == NAME:
            assert (await called.call(echo, {"text": "sealed"})).response == "sealed"
        else:
            with pytest.raises(
                LiveCallFailed, match="cannot be reached: its certificate is not valid: Hostname"
            ):
                await called.call(echo, {})
        await called.close()
