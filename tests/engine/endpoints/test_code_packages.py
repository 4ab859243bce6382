"""Requirements of a code endpoint, installed from an index; and whom its TLS trusts."""

import pytest
from functions_desk import Desk, local_server

from pipelines.core.tools.live_tools import LiveCallFailed


@pytest.mark.slow
def test_functions_use_the_packages_that_they_require(desk: Desk) -> None:
    source = "import idna\ndef encode(name: str) -> str:\n    return idna.encode(name).decode()"
    endpoint = desk.endpoint(source, requirements=["idna>=3"])
    assert desk.response(endpoint, "encode", name="bücher.example") == "xn--bcher-kva.example"


@pytest.mark.slow
def test_http_clients_find_the_way_out_by_themselves(desk: Desk) -> None:
    source = """
        import httpx, requests

        def by_httpx(url: str) -> str:
            return httpx.get(url).text

        def by_requests(url: str) -> str:
            return requests.get(url).text
    """
    with local_server() as port:
        hosts = [f"api.example.com:{port}"]
        endpoint = desk.endpoint(source, requirements=["httpx>=0.27", "requests"], allow_hosts=hosts)
        for name in ("by_httpx", "by_requests"):
            said = desk.response(endpoint, name, url=f"http://api.example.com:{port}/a")
            assert said == f"api.example.com:{port} /a"
            assert "is not in allow_hosts" in desk.response(endpoint, name, url="http://other.example/")


def test_requirements_that_are_none_are_told(desk: Desk) -> None:
    endpoint = desk.endpoint("def f(): return 1", requirements=["httpx @ https://x/y.whl"])
    with pytest.raises(LiveCallFailed, match="the endpoint's config cannot be used: requirements, line 1"):
        desk.discovered(endpoint)


def test_certificates_of_the_system_are_trusted(desk: Desk) -> None:
    source = "import ssl\ndef trusted() -> int:\n    return len(ssl.create_default_context().get_ca_certs())"
    assert desk.response(desk.endpoint(source), "trusted") > 10
