"""The OpenAPI document as an adversary: what it allows, and what it does not, against the whole application.

In process and derandomized: the same requests on every machine.
"""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.python import asgi
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from pipelines.server.app import App
from pipelines.server.config.settings import load_settings
from pipelines.wire.names import PROXY_BASE, TraceEventType
from support.closed_document import closed
from support.desk import TOOLS, open_house

# A batch that was asked for runs on threads of its own, which draw chance while hypothesis is drawing too.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the .random. module inside strategies")
#: Closed: an answer with a field that the document does not name is a failure, too.
DOCUMENT = closed(App(load_settings({})).api.openapi())
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = [f"{method.upper()} {path}" for path, methods in DOCUMENT["paths"].items() for method in methods]
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# Nobody listens there: an agent that is asked for is refused at once, and nothing leaves the machine.
NOWHERE = "http://127.0.0.1:9/dispatch"
TOOL_NAMES = [tool["name"] for tool in TOOLS]


@schemathesis.serializer("application/zip", "application/x-protobuf", "application/x-ndjson")
def as_it_is(context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(getattr(value, "data", value)).encode()


class Served(NamedTuple):
    client: asgi.ASGIClient
    key: str
    token: str
    jti: str


class Filled(NamedTuple):
    directory: Path
    key: str
    token: str
    jti: str


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """A data directory with one of everything in it, each with the id 1."""
    directory = tmp_path_factory.mktemp("filled") / "house"

    async def fill() -> Filled:
        async with open_house(directory) as house:
            run = await house.owner.run(await house.owner.agent(endpoint_url=NOWHERE))
            return Filled(directory, house.owner.key, run.token, run.jti)

    return asyncio.run(fill())


@pytest.fixture
def served(filled: Filled, tmp_path: Path) -> Iterator[Served]:
    """A fresh application on a copy of it."""
    directory = Path(shutil.copytree(filled.directory, tmp_path / "house"))
    app = App(load_settings({}, data_dir=directory, proxy_rate_limit=0))
    with asgi.get_client(app) as client:
        yield Served(client, filled.key, filled.token, filled.jti)
    asgi.shutdown_lifespans()


def aim(case: Any, served: Served) -> dict[str, str]:
    """Every other request at something that is there; the credentials that its path takes."""
    given = case.path_parameters or {}
    for name, value in given.items():
        known: list[str] = []
        if name.endswith("_id"):
            known = ["1"]
        elif name == "jti":
            known = [served.jti]
        elif name == "tool_name":
            known = TOOL_NAMES
        elif name == "event_type":
            known = list(TraceEventType)
        choice = sum(str(value).encode("utf-8", "replace"))
        if known and choice % 2:
            given[name] = known[choice // 2 % len(known)]
    secret = served.token if case.path.startswith(PROXY_BASE) else served.key
    return {"Authorization": f"Bearer {secret}"}


def exchange(case: Any, served: Served) -> None:
    headers = aim(case, served)
    response = case.call(base_url="http://testserver", session=served.client, headers=headers, timeout=60)
    case.validate_response(response, checks=CHECKS)
    if response.status_code >= 400:
        error = response.json()["error"]
        assert error["code"]
        assert error["message"]


BOUNDED = settings(
    max_examples=10,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def exchange_all(operation: str, served: Served, how_many: settings) -> None:
    """`SCHEMA.parametrize` would make all requests in each process that collects tests, which
    is ten seconds; here an operation's are made when its test runs."""
    load_all_checks()
    [made] = get_all_tests(
        schema=SCHEMA.include(name=operation), test_func=exchange, settings=how_many, given_kwargs=None
    )
    _, test = made.ok()
    test(served=served)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_keeps_to_its_document(operation: str, served: Served) -> None:
    exchange_all(operation, served, BOUNDED)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_keeps_to_its_document_for_long(operation: str, served: Served) -> None:
    exchange_all(operation, served, settings(BOUNDED, max_examples=200))
