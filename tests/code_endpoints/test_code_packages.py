"""Requirements of a code endpoint, installed from an index; and whom its TLS trusts."""

import pytest
from functions_desk import Desk

from pipelines.core.live_tools import HopFailed


@pytest.mark.slow
def test_functions_use_the_packages_that_they_require(desk: Desk) -> None:
    source = "import idna\ndef encode(name: str) -> str:\n    return idna.encode(name).decode()"
    endpoint = desk.endpoint(source, requirements=["idna>=3"])
    assert desk.response(endpoint, "encode", name="bücher.example") == "xn--bcher-kva.example"


def test_requirements_that_are_none_are_told(desk: Desk) -> None:
    endpoint = desk.endpoint("def f(): return 1", requirements=["httpx @ https://x/y.whl"])
    with pytest.raises(HopFailed, match="the endpoint's config cannot be used: requirements, line 1"):
        desk.discovered(endpoint)


def test_certificates_of_the_system_are_trusted(desk: Desk) -> None:
    source = "import ssl\ndef trusted() -> int:\n    return len(ssl.create_default_context().get_ca_certs())"
    assert desk.response(desk.endpoint(source), "trusted") > 10
