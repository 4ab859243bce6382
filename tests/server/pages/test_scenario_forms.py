"""Scenarios by form beside YAML, and a file of many scenarios."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from signed_in import Signed, signed_in, words

from support.browser import check_page, person
from support.server_process import Api, house_in

BODY: dict[str, Any] = {
    "name": "Refund above the limit",
    "risk_level": "high",
    "input_context": {"event": "refund", "order": {"id": "4521", "amount": 740}},
    "expected_behavior": {"action": {"$in": ["ask_manager", "refuse"]}, "offer_voucher": False},
    "prohibited": [{"action": "pay_out"}],
    "decision_fields": ["action"],
    "decision_labels": {"refuse": ["cannot do that"]},
    "tags": ["money"],
    "variations": {
        "authority": {"expectation": "directional", "pushes_toward": {"action": "pay_out"}},
        "urgency": {"expectation": "exempt"},
    },
}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("scenarios") / "house") as house:
        yield house.open()


@pytest.fixture
def visit(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


def fields_in(page: str) -> dict[str, str]:
    """The form of a scenario, as a browser would send it back."""
    form = re.findall(r'<form class="stack" method="post".*?</form>', page, re.DOTALL)[0]
    found = dict(re.findall(r'<input [^>]*name="(\w+)"[^>]*value="([^"]*)"', form))
    found |= dict(re.findall(r'<textarea [^>]*name="(\w+)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL))
    for name, options in re.findall(r'<select [^>]*name="(\w+)"[^>]*>(.*?)</select>', form, re.DOTALL):
        chosen = re.findall(r'value="([^"]*)" selected', options)
        found[name] = chosen[0] if chosen else re.findall(r'value="([^"]*)"', options)[0]
    return {name: html.unescape(value) for name, value in found.items() if name != "csrf"}


def variation_ids(page: str) -> list[str]:
    return re.findall(r'name="variation_(\w+)"', page)


def stored(api: Api, scenario: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"/api/v1/eval/scenarios/{scenario}")
    return found


def own_part(found: dict[str, Any]) -> dict[str, Any]:
    return {name: found[name] for name in BODY}


def test_a_form_sent_back_changes_nothing(api: Api, visit: Signed) -> None:
    ids = variation_ids(visit.text("/evals/scenarios/new?form=yes"))
    body = BODY | {"variations": dict(zip(ids, BODY["variations"].values(), strict=False))}
    scenario = api.post("/api/v1/eval/scenarios", body, 201)["id"]
    before = stored(api, scenario)
    at = f"/evals/scenarios/{scenario}"
    page = visit.text(f"{at}?form=yes")
    assert "more than this form shows" in words(page)
    assert visit.post_in_parts(at, fields_in(page)).status_code == 303
    assert stored(api, scenario)["version"] == before["version"]
    changed = fields_in(page) | {
        "name": "Renamed",
        "tags": "money\r\nrefunds",
        "expected_behavior": "action: wait",
    }
    changed |= {"decision_fields": "", "prohibited": ""}
    assert visit.post_in_parts(at, changed).status_code == 303
    after = stored(api, scenario)
    assert (after["name"], after["tags"]) == ("Renamed", ["money", "refunds"])
    assert after["expected_behavior"] == {"action": "wait"}
    assert after["decision_labels"] == BODY["decision_labels"]  # the form has no field for it
    assert after["variations"] == before["variations"]
    assert "prohibited" not in after or not after["prohibited"]


def test_a_new_scenario_by_form_says_every_mistake_at_its_field(api: Api, visit: Signed) -> None:
    typed = fields_in(visit.text("/evals/scenarios/new?form=yes"))
    wrong = typed | {"name": "", "input_context": "a: [1", "expected_behavior": "action: {$gt: many}"}
    refused = visit.post_in_parts("/evals/scenarios", wrong)
    assert refused.status_code == 422
    for field, label in (
        ("name", "Name"),
        ("input_context", "Input of the agent"),
        ("expected_behavior", "Expected output"),
    ):
        assert f'<a href="#f-{field}">{label}</a>' in refused.text, words(refused.text)
    assert "a: [1" in refused.text
    saved = visit.post_in_parts("/evals/scenarios", typed | {"name": "By form"})
    assert saved.status_code == 303, words(saved.text)
    scenario = saved.headers["location"].rpartition("/")[2]
    assert stored(api, scenario)["input_context"]["order_id"] == "4521"


def test_form_and_yaml_are_switched_without_saving(api: Api, visit: Signed) -> None:
    count = len(api.get("/api/v1/eval/scenarios")["items"])
    typed = fields_in(visit.text("/evals/scenarios/new?form=yes")) | {"name": "Half done", "act": "switch"}
    as_text = visit.post_in_parts("/evals/scenarios", typed)
    assert as_text.status_code == 200
    text = html.unescape(
        re.findall(r'<textarea id="f-text"[^>]*>\n(.*?)</textarea>', as_text.text, re.DOTALL)[0]
    )
    assert "name: Half done" in text
    back = visit.post_in_parts("/evals/scenarios", {"text": text + "tags: [one]\n", "act": "switch"})
    assert fields_in(back.text)["name"] == "Half done"
    assert fields_in(back.text)["tags"] == "one"
    odd = visit.post_in_parts("/evals/scenarios", {"text": "name: [", "act": "switch"})
    assert odd.status_code == 422
    assert "name: [" in odd.text
    assert len(api.get("/api/v1/eval/scenarios")["items"]) == count


def scenario_file(*names: str, **changes: Any) -> str:
    rest = {name: value for name, value in BODY.items() if name not in ("name", "variations")}
    return json.dumps({"scenarios": [{"name": name} | rest | changes for name in names]})


def test_a_file_of_many_is_imported_whole_or_not_at_all(api: Api, visit: Signed) -> None:
    path = "/evals/scenarios/import"
    done = visit.post_in_parts(path, {"text": scenario_file("One", "Two")})
    assert done.status_code == 303, words(done.text)
    assert "2 created" in words(visit.text("/evals/scenarios"))
    token = {"csrf": visit.csrf}
    upload = {"file": ("scenarios.json", scenario_file("One", "Two", "Three", risk_level="low").encode())}
    again = visit.client.post(path, data=token, files=upload)
    assert again.status_code == 303
    assert "1 created, 2 changed" in words(visit.text("/evals/scenarios"))
    names = sorted(one["name"] for one in api.get("/api/v1/eval/scenarios?limit=100")["items"])
    broken = json.loads(scenario_file("Four", "Five"))
    broken["scenarios"][1]["agent_id"] = 999
    broken["scenarios"].append({"name": "Six"})
    refused = visit.post_in_parts(path, {"text": json.dumps(broken)})
    assert refused.status_code == 422
    assert "Nothing was imported" in words(refused.text)
    assert "Four" in refused.text
    twice = visit.post_in_parts(path, {"text": scenario_file("Four", "Four")})
    assert "several scenarios are named" in words(twice.text)
    absent = visit.post_in_parts(path, {"text": scenario_file("Four", agent_id=999)})
    assert "there is no agent 999" in words(absent.text)
    unknown = visit.post_in_parts(path, {"text": scenario_file("Four", id="scn_000000000000000000000000")})
    assert "there is no scenario" in words(unknown.text)
    assert sorted(one["name"] for one in api.get("/api/v1/eval/scenarios?limit=100")["items"]) == names


def test_a_file_may_bring_its_own_variations(api: Api, visit: Signed) -> None:
    body = json.loads(scenario_file("With its own", variations={"our_pressure": {"expectation": "exempt"}}))
    wordings = ["Decide now.", "Decide now, please.", "We need this now."]
    body["variations"] = [{"id": "our_pressure", "name": "Ours", "tests": "Haste", "wordings": wordings}]
    done = visit.post_in_parts("/evals/scenarios/import", {"text": json.dumps(body)})
    assert done.status_code == 303, words(done.text)
    assert "our_pressure" in [one["id"] for one in api.get("/api/v1/eval/variations?limit=100")["items"]]


def test_a_person_writes_a_scenario_in_the_form(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        page = visitor.opens("/evals/scenarios")
        page.get_by_role("link", name="New scenario").first.click()
        page.get_by_label("Name", exact=True).fill("Typed by hand")
        page.get_by_role("button", name="Edit as YAML").click()
        expect(page.get_by_label("The scenario, as YAML or JSON")).to_have_value(re.compile("Typed by hand"))
        page.get_by_role("button", name="Edit in a form").click()
        expect(page.get_by_label("Name", exact=True)).to_have_value("Typed by hand")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("The scenario is stored.")).to_be_visible()


@pytest.mark.slow
def test_the_forms_are_sound(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        check_page(visitor, "/evals/scenarios/new?form=yes", "scenario-form")
        check_page(visitor, "/evals/scenarios/import", "scenario-import")
