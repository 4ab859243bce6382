"""Typed rules on the pages of an agent and of a task: listed, never run as markup, edited as JSON."""

import json
from collections.abc import Iterator

import pytest
from signed_in import Signed, signed_in, words

from support.desk import STATE, TOOLS
from support.server_process import Api, house_in

HOSTILE = "<script>alert(1)</script>"
OPEN = {
    "name": "pending-only",
    "form": "require",
    "tools": ["cancel_order"],
    "expression": "order.status == 'pending'",
}
ONCE = {
    "name": "once",
    "form": "limit_calls",
    "tools": ["cancel_order", "refund_order"],
    "count": 1,
    "message": HOSTILE,
}
OWN = {"form": "without", "tools": ["get_order"], "names": ["amount"]}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("rules") / "house") as house:
        opened = house.open()
        opened.agent("http://127.0.0.1:9/dispatch", tools_schema=TOOLS, rules=[OPEN, ONCE])
        row = {"user": "Cancel 7001.", "state": STATE}
        opened.dataset(
            row | {"rules": [OWN, {"off": "once"}]}, row | {"rules": [{"off": "oncee"}]}, agent_id=1
        )
        yield opened


@pytest.fixture
def visitor(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


def test_an_agents_rules_are_listed_as_yaml(visitor: Signed) -> None:
    page = visitor.text("/agents/1")
    said = words(page)
    assert "Backend rules" in said
    assert "pending-only require cancel_order name: pending-only form: require" in said
    assert "expression: order.status == 'pending'" in said
    assert HOSTILE not in page


def test_a_task_shows_the_rules_of_its_agent_its_own_and_what_it_switches_off(visitor: Signed) -> None:
    said = words(visitor.text("/tasks/1"))
    assert "names: [amount] task" in said
    assert "expression: order.status == 'pending' agent" in said
    assert "switched off" in said
    said = words(visitor.text("/tasks/2"))
    assert "the agent has no rule called `oncee`" in said
    assert "(did you mean `once`?)" in said


def test_rules_are_edited_as_json_and_what_is_wrong_stands_at_the_field(api: Api, visitor: Signed) -> None:
    fields = {
        "name": "Other",
        "endpoint_url": "http://127.0.0.1:9/dispatch",
        "tools_schema": json.dumps(TOOLS),
    }
    answer = visitor.post_in_parts("/agents/new", fields | {"rules": '[{"form": "requires"}]'})
    assert answer.status_code == 422
    assert "`form` must be one of" in words(answer.text)
    answer = visitor.post_in_parts("/agents/new", fields | {"rules": json.dumps([OPEN])})
    assert answer.status_code == 303
    made = answer.headers["location"].partition("?")[0]
    assert api.get(f"/api{made}")["rules"] == [OPEN]
    changed = fields | {"version": "1", "rules": "", "name": "Without"}
    assert visitor.post_in_parts(f"{made}/edit", changed).status_code == 303
    assert "rules" not in api.get(f"/api{made}")
