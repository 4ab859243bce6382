"""Pages on which a person decides on what a model wrote: rules of a dataset, the plan of a tool."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser
from signed_in import Signed, as_viewer, signed_in, words

from pipelines.engine.simulation.author_jobs import WAITED_FOR_S
from support.browser import check_page, person
from support.desk import ORDER_ID, STATE, tool
from support.plan_answers import answer_of, with_examples
from support.server_process import Api, eventually, house_in

UNCLEAR = tool("run_close", "Runs it.", ORDER_ID, ["order_id"])
CLOSE = [
    {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
    {"set": {"order.status": "'closed'"}},
    {"return": {"order_id": "order.id", "status": "order.status"}},
]
CALLS = [
    {"tool": "run_close", "arguments": {"order_id": "7001"}, "outcome": "allowed", "status": 200},
    {"tool": "run_close", "arguments": {"order_id": "1"}, "outcome": "refused", "status": 404},
]
CLOSE_PLAN = with_examples(CLOSE, *CALLS) | {"why": "It <i>closes</i>."}
PRECIOUS = "Precious <b>goods</b> leave the house only with a clerk."
SECOND = "Shipped goods stay as they are."
READ = "run_close fails when the order's amount is above 70."
RULE = {"form": "require", "tools": ["run_close"], "expression": "order.amount < 50", "error": "needs_clerk"}
STAYS = {"form": "require", "tools": ["run_close"], "expression": "order.status != 'shipped'"}
EXAMPLES = [
    {"tool": "run_close", "arguments": {"order_id": "7001"}, "outcome": "allowed"},
    {"tool": "run_close", "arguments": {"order_id": "4521"}, "outcome": "refused", "error": "needs_clerk"},
]
SLOW = "Slow goods wait for the tide."
SCRIPT = [
    {
        "purpose": "author",
        "about": "Write the plans of seal_order.",
        "delay_s": WAITED_FOR_S + 1,
        "answer": answer_of(
            seal_order=with_examples(CLOSE, *[one | {"tool": "seal_order"} for one in CALLS])
        ),
    },
    {
        "purpose": "author",
        "about": SLOW,
        "delay_s": WAITED_FOR_S + 1,
        "answer": {"sentences": [{"number": 1, "rules": [RULE], "examples": EXAMPLES}]},
    },
    {
        "purpose": "author",
        "about": "Write the plans of run_close, run_seal.",
        "answer": answer_of(run_close=CLOSE_PLAN, run_seal=[{"return": "ordr"}]),
    },
    {
        "purpose": "author",
        "about": "Write the plans of run_close.",
        "answer": answer_of(run_close=CLOSE_PLAN),
    },
    {
        "purpose": "author",
        "about": SECOND,
        "answer": {
            "sentences": [
                {"number": 1, "rules": [RULE], "examples": EXAMPLES},
                {
                    "number": 2,
                    "rules": [STAYS],
                    "examples": [EXAMPLES[0], EXAMPLES[1] | {"error": "conflict"}],
                },
            ]
        },
    },
    {
        "purpose": "author",
        "about": "Translate",
        "answer": {"sentences": [{"number": 1, "rules": [RULE], "examples": EXAMPLES}]},
    },
]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    directory = tmp_path_factory.mktemp("proposals")
    script = directory / "answers.jsonl"
    script.write_text("\n".join(map(json.dumps, SCRIPT)))
    with house_in(directory, {"PIPELINES_AUTHOR_MODEL": f"scripted:{script}"}) as house:
        yield house.open()


@pytest.fixture
def visitor(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


def made(api: Api, behavior: str = PRECIOUS) -> tuple[Any, Any]:
    agent = api.agent("http://127.0.0.1:9", tools_schema=[UNCLEAR])
    row = {"user": "Close it.", "state": STATE, "behavior": behavior}
    return agent, api.dataset(row, agent_id=agent["id"])


def test_rules_are_asked_for_accepted_and_taken_back(api: Api, visitor: Signed) -> None:
    _, dataset = made(api)
    base = f"/datasets/{dataset['id']}/rules"
    assert "No rules have been proposed yet" in visitor.text(base)
    assert visitor.post(base).status_code == 303
    page = visitor.text(base)
    assert PRECIOUS in words(page)
    assert "<b>goods" not in page
    assert 'as expected run_close {"order_id":"4521"} → 409 needs_clerk' in words(page)
    (rule_id,) = re.findall(rf"{base}/(\d+)/accept", page)
    assert visitor.post(f"{base}/{rule_id}/accept").status_code == 303
    assert "in force" in words(visitor.text(base))
    assert visitor.post(f"{base}/{rule_id}/accept").status_code == 409
    assert visitor.post(f"{base}/{rule_id}/reject").status_code == 303
    assert "withdrawn" in words(visitor.text(base))


def test_every_sentence_is_shown_as_it_is_read_and_ticked_rules_are_accepted_together(
    api: Api, visitor: Signed
) -> None:
    _, dataset = made(api, f"{PRECIOUS} {SECOND} {READ}")
    base = f"/datasets/{dataset['id']}/rules"
    page = visitor.text(base)
    assert "✕ not read" in words(page)
    assert "read as: run_close fails when the order's amount is more than 70." in words(page)
    assert visitor.post(base, {"sentence": [PRECIOUS, SECOND]}).status_code == 303
    page = visitor.text(base)
    assert "in words: run_close fails with needs_clerk unless the order's amount is less than 50." in words(
        page
    )
    ids = re.findall(r'name="rule_id" value="(\d+)"', page)
    assert len(ids) == 2
    assert visitor.post(f"{base}/accept", {}).status_code == 409
    assert visitor.post(f"{base}/accept", {"rule_id": ids}).status_code == 303
    assert words(visitor.text(base)).count("✓ in force") == 2
    assert "∿ translated" in words(visitor.text(base))
    assert visitor.post(f"{base}/accept", {"rule_id": ids}).status_code == 409


def test_a_question_that_takes_long_is_shown_with_its_progress(api: Api, visitor: Signed) -> None:
    _, dataset = made(api, SLOW)
    base = f"/datasets/{dataset['id']}/rules"
    assert visitor.post(base).status_code == 303
    assert "The model is asked: 0 of 1 texts done." in words(visitor.text(base))
    ended = "The last question to the model ended"
    eventually(lambda: ended in words(visitor.text(base)), "the end of the job")
    assert "? proposed" in words(visitor.text(base))


def test_a_sentence_is_dismissed_on_the_page(api: Api, visitor: Signed) -> None:
    _, dataset = made(api)
    base = f"/datasets/{dataset['id']}/rules"
    assert visitor.post(f"{base}/dismiss", {}).status_code == 409
    assert visitor.post(f"{base}/dismiss", {"sentence": ["Not there."]}).status_code == 409
    assert visitor.post(f"{base}/dismiss", {"sentence": [PRECIOUS]}).status_code == 303
    page = words(visitor.text(base))
    assert "– dismissed" in page
    assert "✕ not read" not in page
    assert "Dismissed by" in page


def asked(visitor: Signed, agent: Any, fields: dict[str, Any], files: Any = None) -> str:
    """Asks the model for plans; where its answer is shown."""
    sent = visitor.post(f"/agents/{agent['id']}/proposals", fields, files=files)
    assert sent.status_code == 303, sent.text
    return sent.headers["location"].partition("?")[0]


def test_a_plan_is_proposed_where_it_is_a_guess_and_kept_by_a_person(api: Api, visitor: Signed) -> None:
    agent, dataset = made(api)
    tools = f"/agents/{agent['id']}/tools"
    assert "Ask a model to propose a plan" in visitor.text(f"{tools}?tool=run_close")
    place = asked(visitor, agent, {"task": dataset["task_ids"][0], "tool": "run_close"})
    page = visitor.text(place)
    assert "It <i>closes</i>." in words(page)
    assert '✓ as expected run_close {"order_id":"7001"} → 200' in words(page)
    assert "2 examples of the model" in words(page)
    assert api.get(f"/api/agents/{agent['id']}")["version"] == 1
    assert visitor.post(f"{place}/accept", {"version": "1"}).status_code == 422, "none is selected"
    assert visitor.post(f"{place}/accept", {"version": "1", "tool": "gone"}).status_code == 422
    fields = {"version": "1", "tool": "run_close"}
    assert visitor.post(f"{place}/accept", fields).status_code == 303
    assert api.get(f"/api/agents/{agent['id']}")["tools_schema"][0]["simulation"] == CLOSE
    assert visitor.post(f"{place}/accept", fields).status_code == 422, "by then it is another version"
    refused = visitor.post(f"/agents/{agent['id']}/proposals", {"tool": "gone"})
    assert refused.status_code == 422
    assert "gone" in words(refused.text)
    other, _ = made(api)
    assert (
        visitor.client.get(f"/agents/{other['id']}/proposals/{place.rpartition('/')[2]}").status_code == 404
    )


def test_a_recording_is_uploaded_and_the_table_selects_what_is_better(api: Api, visitor: Signed) -> None:
    agent = api.agent(
        "http://127.0.0.1:9", tools_schema=[UNCLEAR, tool("run_seal", "Runs it.", ORDER_ID, ["order_id"])]
    )
    dataset = api.dataset({"user": "Close it.", "state": {}}, agent_id=agent["id"])
    page = f"/agents/{agent['id']}/proposals"
    assert "Recorded calls" in words(visitor.text(page))
    orders = {str(number): {"status": "pending"} for number in range(6)}
    calls = [closed(number) for number in [*orders, "9"]]
    files = {
        "calls": ("calls.jsonl", json.dumps({"task": "t-1", "calls": calls}) + "\n\n"),
        "state": ("state.json", json.dumps({"order": orders})),
    }
    place = asked(visitor, agent, {"task": dataset["task_ids"][0]}, files)  # of no use with a recording
    shown = visitor.text(place)
    row = words(shown)[words(shown).index("What the plans are worth") :]
    assert "run_close 2 held-out calls 0 % 100 % ✓ proposed 1 call" in row
    assert "run_seal 0 examples of the model – not usable – current" in row
    assert re.findall(r'name="tool" value="(\w+)"[^>]*checked', shown) == ["run_close"]
    assert 'task t-1, call 7 with {"order_id":"9"}' in words(shown)
    assert "The last conversation" in words(visitor.text(page))
    only_state = {"state": files["state"]}
    broken = {"calls": ("calls.jsonl", "{")}
    for wrong in (only_state, broken):
        assert visitor.post(page, {}, files=wrong).status_code == 422


def closed(number: str) -> Any:
    status = {"status": "closed"}
    change = {"op": "update", "entity_type": "order", "id": number, "set": status, "unset": []}
    return {
        "tool": "run_close",
        "args": {"order_id": number},
        "status": "ok",
        "response": {"order_id": number, **status},
        "updates": [change],
    }


def test_plans_that_take_long_are_shown_with_their_progress(api: Api, visitor: Signed) -> None:
    slow = tool("seal_order", "Seals it slowly.", ORDER_ID, ["order_id"])
    agent = api.agent("http://127.0.0.1:9", tools_schema=[slow])
    place = asked(visitor, agent, {"tool": "seal_order"})
    assert "The model is asked for plans: 0 of 1 tools done." in words(visitor.text(place))
    eventually(lambda: "A plan for seal_order" in words(visitor.text(place)), "the end of the job")


def test_a_viewer_sees_them_and_decides_nothing(api: Api) -> None:
    agent, dataset = made(api)
    with signed_in(api, as_viewer(api)) as viewer:
        page = viewer.text(f"/datasets/{dataset['id']}/rules")
        assert "Ask the model" not in page
        assert viewer.post(f"/datasets/{dataset['id']}/rules").status_code == 403
        proposals = f"/agents/{agent['id']}/proposals"
        assert "Ask the model" not in viewer.text(proposals)
        assert viewer.post(proposals, {"tool": "run_close"}).status_code == 403


@pytest.mark.slow
def test_the_pages_hold_what_a_reader_needs(api: Api, browser: Browser) -> None:
    agent, dataset = made(api)
    api.post(f"/api/datasets/{dataset['id']}/rules/propose", {}, 202)
    with person(browser, api) as reader:
        check_page(reader, f"/datasets/{dataset['id']}/rules", "rules")
        page = reader.opens(f"/agents/{agent['id']}/tools?tool=run_close")
        page.get_by_role("button", name="Ask a model to propose a plan").click()
        page.get_by_role("button", name="Accept the selected plans").wait_for()
        check_page(reader, page.url.removeprefix(api.url).partition("?")[0], "plans")
        check_page(reader, f"/agents/{agent['id']}/proposals", "plans-by-a-model")
