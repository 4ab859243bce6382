"""One real server for all of these tests, and every framework's agent on a model that the test plays."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from ipaddress import ip_address
from typing import Any, Protocol

import pytest
from played_models import Decide, Played

from pipelines.odyssey import Envelope
from support.server_process import Api, house_in

FRAMEWORKS = ("openai-agents", "anthropic", "langchain", "strands")


class Studio(Protocol):
    def tools_schema(self) -> list[dict[str, Any]]: ...
    def run(self, envelope: Envelope, **options: Any) -> dict[str, Any]: ...
    @property
    def run_async(self) -> Callable[..., Any]: ...


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("shared"), {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        yield house.open()


@pytest.fixture(autouse=True)
def sought_elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """No test looks up or connects to another machine. Frameworks swallow errors of what they send home, so a
    refusal alone would go unnoticed: the test fails at its end."""
    sought: list[str] = []

    def guard(owner: Any, name: str, host_of: Callable[..., Any]) -> None:
        real = getattr(owner, name)

        def guarded(*arguments: Any, **options: Any) -> Any:
            host = host_of(*arguments, **options)
            if not _is_here(host):
                sought.append(f"{name} {host}")
                raise OSError(f"a test of an adapter wants to reach {host}")
            return real(*arguments, **options)

        monkeypatch.setattr(owner, name, guarded)

    guard(socket, "getaddrinfo", lambda host, *_, **__: host)
    for name in ("connect", "connect_ex"):
        guard(socket.socket, name, lambda _, address: address[0] if isinstance(address, tuple) else None)
    yield sought
    assert sought == []


def _is_here(host: str | bytes | None) -> bool:
    """Of an address of no network, a Unix socket's, the host is None."""
    name = host.decode() if isinstance(host, bytes) else host
    try:
        return name in (None, "", "localhost") or ip_address(str(name)).is_loopback
    except ValueError:
        return False  # a name that would have to be looked up


@pytest.fixture(params=FRAMEWORKS)
def studio_of(request: pytest.FixtureRequest) -> Iterator[Callable[[Decide], tuple[Studio, Played]]]:
    """Of each framework: an agent whose model does as told, and what that model saw."""
    with ExitStack() as stack:

        def make(decide: Decide) -> tuple[Studio, Played]:
            model = Played(decide)
            return _studio(request.param, model, stack), model

        yield make


def _studio(framework: str, model: Played, stack: ExitStack) -> Studio:
    if framework == "openai-agents":
        from openai_model import Studio as OpenAiStudio

        return OpenAiStudio(model)
    if framework == "langchain":
        from langchain_model import Studio as LangChainStudio

        return LangChainStudio(model)
    if framework == "strands":
        from strands_model import Studio as StrandsStudio

        return StrandsStudio(model)
    from anthropic_api import Studio as AnthropicStudio
    from anthropic_api import client_of, played_api

    url = stack.enter_context(played_api(model))
    return AnthropicStudio(url, stack.enter_context(client_of(url)))
