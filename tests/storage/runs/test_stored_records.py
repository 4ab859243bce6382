"""What rows of other versions hold is shown as it stands, and read as far as it is known."""

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.calls.run_moment import seed_name
from pipelines.core.tasks.seed import Seed
from pipelines.storage.agents.agents import Agent
from pipelines.storage.tasks.stored_seed import WithSeed

NOW = "2026-05-01T12:00:00.000000Z"


def test_a_seed_of_another_version_is_shown_and_named_as_it_was_stored():
    stored = WithSeed(seed_text='{"colour":"red","user_instruction":"Do it."}', world_hash=None)
    assert list(stored.odyssey_seed()) == ["colour", "user_instruction"]
    assert seed_name(stored.odyssey_seed(), None) != seed_name(stored.seed.as_json(), None)
    assert stored.seed == Seed(user_instruction="Do it.")


def test_a_seed_is_read_once():
    stored = WithSeed(seed_text='{"user_instruction":"Do it."}', world_hash=None)
    assert stored.seed is stored.seed


def test_an_agent_of_another_version_is_shown_as_it_was_stored():
    agent = Agent(
        id=1,
        org_id=1,
        version=2,
        status="published",
        definition_text='{"name":"old","colour":"red"}',
        sealed_auth_header=None,
        created_at=NOW,
        updated_at=NOW,
    )
    assert agent.as_json() == {
        "id": 1,
        "version": 2,
        "status": "published",
        "name": "old",
        "colour": "red",
        "has_auth_header_value": False,
        "created_at": NOW,
        "updated_at": NOW,
    }
    assert agent.definition == AgentDefinition(name="old")
    assert agent.definition is agent.definition
