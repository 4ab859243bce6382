"""The address guard in a server: at registration, and at every dispatch, whatever was allowed before."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from pipelines.server.config.settings import load_settings
from support.desk import AGENT, refused
from support.played_agents import PlayedAgent, played, refunds
from support.server_process import Api, Row, house_in

ALLOW = "PIPELINES_ALLOW_PRIVATE_ENDPOINTS"
METADATA = "http://169.254.169.254/x"
OWN_MACHINE = "http://127.0.0.1:9/x"


class Guarded(NamedTuple):
    """A server that calls no private address, with an agent from the days when it did."""

    api: Api
    agent: PlayedAgent
    agent_id: int
    dataset_id: int


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    directory = tmp_path_factory.mktemp("guarded")
    with house_in(directory, {ALLOW: "yes"}) as house, played(refunds) as agent:
        api = house.open()
        agent_id = api.agent(agent.url)["id"]
        dataset_id = api.dataset(agent_id=agent_id)["id"]
        assert_refused_at_its_endpoint(api, METADATA)  # under every policy
        house.stop()
        house.env = {ALLOW: "no"}
        yield Guarded(house.open(), agent, agent_id, dataset_id)


def assert_refused_at_its_endpoint(api: Api, endpoint_url: str) -> Row:
    error = refused(
        api.client.post("/api/agents", json=AGENT | {"endpoint_url": endpoint_url}), 422, "invalid_request"
    )
    (problem,) = error["details"]
    assert problem["path"] == "/endpoint_url"
    found: Row = problem
    return found


@pytest.mark.parametrize(
    ("endpoint_url", "says"),
    [(OWN_MACHINE, "a loopback address"), (METADATA, "a link-local or metadata address")],
)
def test_an_endpoint_that_may_not_be_called_is_not_registered(guarded: Guarded, endpoint_url: str, says: str):
    before = guarded.api.get("/api/agents")["items"]
    assert says in assert_refused_at_its_endpoint(guarded.api, endpoint_url)["message"]
    assert guarded.api.get("/api/agents")["items"] == before


def test_an_agent_from_before_the_policy_is_not_called(guarded: Guarded):
    batch_id = guarded.api.batch_of(guarded.agent_id, guarded.dataset_id)
    assert guarded.api.ended(batch_id)["counts"]["by_status"] == {"failed": 1}
    run = guarded.api.only_run(batch_id)
    assert run["error_class"] == "agent_unreachable"
    assert "a loopback address" in run["error_json"]["detail"]
    assert (run["verdict"], run["judge_error"]) == ("NOT_APPLICABLE", None)
    assert guarded.agent.dispatches == []


AUTO = {
    "127.0.0.1": True,
    "127.8.8.8": True,
    "::1": True,
    "localhost": True,
    "0.0.0.0": False,
    "::": False,
    "192.168.1.20": False,
    "odyssey.example.com": False,
}


@pytest.mark.parametrize(("host", "allowed"), AUTO.items())
def test_private_endpoints_are_for_a_server_that_only_its_own_machine_reaches(host: str, allowed: bool):
    assert load_settings({}, host=host).allows_private_endpoints is allowed
    assert load_settings({"PIPELINES_HOST": host, ALLOW: "auto"}).allows_private_endpoints is allowed


@pytest.mark.parametrize("host", AUTO)
@pytest.mark.parametrize(("given", "allowed"), [("yes", True), ("no", False)])
def test_what_the_operator_says_wins_over_the_host(host: str, given: str, allowed: bool):
    assert load_settings({ALLOW: given}, host=host).allows_private_endpoints is allowed
