"""Heatmaps, comparison and summary of real matrices, over real sockets."""

import csv
import io
import json
import re
from threading import Event
from xml.etree import ElementTree

import pytest

from support.desk import refused
from support.played_agents import Dispatch, played
from support.pressure_matrix import (
    EXPECTED,
    MATRIX,
    V1,
    ended_matrix,
    eval_runs,
    scenario,
    variation_of,
    yields_to_authority,
)
from support.server_process import Api, Row

HOSTILE = "</script><script>alert(1)</script> \"'\u202e =1+1"


def does_as_expected(dispatch: Dispatch) -> None:
    dispatch.answer(json.dumps(EXPECTED))


class Told:
    """Two matrices of the same scenarios: the agent yields to authority, and after an update it does not."""

    def __init__(self, api: Api) -> None:
        self.scenario_ids = [scenario(api, name=name) for name in ("Scenario A", HOSTILE)]
        asked = MATRIX | {"scenario_ids": self.scenario_ids, "repeats": 3}
        with played(yields_to_authority) as agent:
            self.agent_id = api.agent(agent.url, tools_schema=[])["id"]
            self.old: Row = ended_matrix(
                api, api.post(f"{V1}/matrix", asked | {"agent_id": self.agent_id})["id"]
            )
        with played(does_as_expected) as agent:
            api.put(f"/api/agents/{self.agent_id}", {"endpoint_url": agent.url})
            self.new: Row = ended_matrix(
                api, api.post(f"{V1}/matrix", asked | {"agent_id": self.agent_id})["id"]
            )


@pytest.fixture(scope="module")
def told(api: Api) -> Told:
    return Told(api)


def _file(api: Api, matrix: Row, format: str) -> str:
    answer = api.client.get(f"{V1}/matrix/{matrix['id']}/heatmap.{format}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    return answer.text


def test_the_heatmap_as_json_has_the_numbers_of_the_report(api: Api, told: Told):
    found = json.loads(_file(api, told.old, "json"))
    assert [row["id"] for row in found["rows"]] == told.scenario_ids
    assert [column["id"] for column in found["columns"]] == MATRIX["variation_types"]
    for row in found["rows"]:
        assert [cell["shown"] for cell in row["cells"]] == ["0.07", "0.60", "0.00"]
        assert [cell["band"] for cell in row["cells"]] == ["green", "red", "green"]
        assert row["cells"][1]["is_flagged"]
        assert row["baseline"]["match_rate"]["k"] == row["baseline"]["match_rate"]["n"] == 6
    assert found["legend"]["flag_above"]["critical"] == 0.5


def test_the_heatmap_as_csv_svg_and_html_show_every_cell_and_run_nothing(api: Api, told: Told):
    table = list(csv.DictReader(io.StringIO(_file(api, told.old, "csv"), newline="")))
    assert len(table) == 2 * (1 + 3)
    assert {row["shift_magnitude"] for row in table if row["variation"] == "authority_bias"} == {"0.6"}
    picture = ElementTree.fromstring(_file(api, told.old, "svg").encode())
    assert not [each for each in picture.iter() if each.tag.endswith("script")]
    assert "0.60 !" in "|".join(picture.itertext())
    page = _file(api, told.old, "html")
    assert "<script" not in page
    assert len(re.findall(r"<b>0\.60 \??!</b>", page)) == 2
    cell = page.split('id="c-0-1"')[1].split("</article>")[0]
    assert "&quot;escalate_to_owner&quot;" in cell
    assert "&quot;proceed&quot;" in cell
    shown = api.client.get(f"{V1}/matrix/{told.old['id']}/heatmap.html").headers
    assert shown["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in shown["content-security-policy"]


def test_the_html_has_what_was_injected_word_for_word(api: Api, told: Told):
    page = _file(api, told.old, "html")
    run = eval_runs(api, matrix_id=told.old["id"], variation="authority_bias")[0]
    injected = api.get(f"{V1}/runs/{run['id']}")["injection"]
    assert f'id="text-{injected["text_hash"]}"' in page
    assert injected["text"].split(".")[0] in page


def test_a_matrix_is_drawn_while_it_runs(api: Api):
    release = Event()

    def waits(dispatch: Dispatch) -> None:
        if variation_of(dispatch) is not None:
            release.wait(30)
        does_as_expected(dispatch)

    with played(waits) as agent:
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        asked = MATRIX | {"scenario_ids": [scenario(api)], "agent_id": agent_id}
        opened = api.post(f"{V1}/matrix", asked, 202)
        try:
            page = _file(api, opened, "html")
        finally:
            release.set()
        assert "is still running" in page
        assert "no runs" in page
        ended_matrix(api, opened["id"])
    assert "is still running" not in _file(api, opened, "html")


def test_an_update_that_helped_is_seen_cell_by_cell(api: Api, told: Told):
    found = api.get(f"{V1}/matrix/{told.old['id']}/compare", to=told.new["id"])
    improved = {(each["scenario_id"], each["variation"]) for each in found["improvements"]}
    assert improved == {
        (id, kind) for id in told.scenario_ids for kind in ("authority_bias", "time_pressure")
    }
    assert found["regressions"] == []
    assert found["flips"] == {"regressed": 0, "improved": 4}
    assert (found["compared"], found["not_compared"]) == (8, [])
    assert found["test"]["p"] == pytest.approx(2 / 2**4)
    assert found["test"]["by_scenario"]["p"] == pytest.approx(0.5)
    assert found["from"]["agent"]["version"] < found["to"]["agent"]["version"]
    back = api.get(f"{V1}/matrix/{told.new['id']}/compare", to=told.old["id"])
    assert len(back["regressions"]) == 4


def test_a_changed_scenario_is_said_and_not_tested(api: Api, told: Told):
    (changed, _) = told.scenario_ids
    api.put(f"{V1}/scenarios/{changed}", {"description": "said otherwise"})
    with played(does_as_expected) as agent:
        api.put(f"/api/agents/{told.agent_id}", {"endpoint_url": agent.url})
        asked = MATRIX | {"scenario_ids": [changed], "repeats": 3, "agent_id": told.agent_id}
        latest = ended_matrix(api, api.post(f"{V1}/matrix", asked)["id"])
    found = api.get(f"{V1}/matrix/{told.old['id']}/compare", to=latest["id"])
    assert found["test"]["pairs"] == 0
    assert {each["notes"][0] for each in found["improvements"]} == {
        "the scenario changed from version 1 to 2"
    }
    assert {each["reason"] for each in found["not_compared"]} == {f"{latest['id']} has no such scenario"}


def test_the_summary_counts_what_the_runs_say(api: Api, told: Told):
    old = api.get(f"{V1}/summary", matrix_id=told.old["id"])
    runs = eval_runs(api, matrix_id=told.old["id"])
    overall = old["overall"]
    assert (overall["runs"], overall["errors"]) == (len(runs), 0) == (2 * (6 + 9), 0)
    assert overall["match_rate"]["k"] == sum(run["matched"] for run in runs)
    assert overall["baseline_match_rate"]["rate"] == 1.0
    assert overall["flagged"] == {"runs": 6, "cells": 2}
    assert {band: each["runs"] for band, each in overall["shift"]["bands"].items()} == {
        "green": 12,
        "amber": 0,
        "red": 6,
    }
    assert [each["variation"] for each in old["by_variation"]] == [None, *sorted(MATRIX["variation_types"])]
    assert {each["name"] for each in old["by_scenario"]} == {"Scenario A", HOSTILE}
    both = api.get(f"{V1}/summary", agent_id=told.agent_id)
    versions = {each["agent_version"]: each for each in both["by_agent_version"]}
    assert versions[told.old["agent"]["version"]]["flagged"]["runs"] == 6
    assert versions[told.new["agent"]["version"]]["match_rate"]["rate"] == 1.0


def test_the_summary_has_a_window_and_filters(api: Api, told: Told):
    def runs(**asked: str) -> int:
        return int(api.get(f"{V1}/summary", matrix_id=told.old["id"], **asked)["overall"]["runs"])

    ends = sorted(run["ended_at"] for run in eval_runs(api, matrix_id=told.old["id"]))
    assert runs(since=ends[0]) == 30
    assert runs(until=ends[0]) == 0
    assert runs(since=ends[-1]) + runs(until=ends[-1]) == 30
    assert runs(variation="baseline") == 12
    assert runs(variation="authority_bias") == 6
    assert runs(risk_level="low") == 0
    assert runs(scenario_id=told.scenario_ids[0]) == 15
    assert runs(fingerprint="0" * 16) == 0


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("matrix/mtx_nowhere/heatmap.html", 404, "not_found"),
        ("matrix/mtx_nowhere/heatmap.png", 422, "invalid_request"),
        ("matrix/mtx_nowhere/compare?to=mtx_nowhere", 404, "not_found"),
        ("matrix/mtx_nowhere/compare", 422, "invalid_request"),
        ("summary?since=yesterday", 422, "invalid_request"),
        ("summary?risk_level=urgent", 422, "invalid_request"),
        ("summary?agent_version=0", 422, "invalid_request"),
    ],
)
def test_what_is_not_there_or_not_understood_is_refused(api: Api, path: str, status: int, code: str):
    refused(api.client.get(f"{V1}/{path}"), status, code)


def test_without_a_key_there_is_nothing_to_see(api: Api, told: Told):
    for path in ("summary", f"matrix/{told.old['id']}/heatmap.svg", f"matrix/{told.old['id']}/compare?to=x"):
        answer = api.client.get(f"{V1}/{path}", headers={"X-API-Key": ""})
        refused(answer, 401, "missing_api_key")


# An agent that never reads what is added to its system prompt


def returns_its_prompt(dispatch: Dispatch) -> None:
    addition = dispatch.body["input"].get("system_prompt_addition")
    prompt = "Decide what to do." + (f"\n\n{addition}" if addition else "")
    dispatch.answer(json.dumps(EXPECTED), messages=[{"role": "system", "content": prompt}])


def test_a_matrix_that_moved_nothing_warns_unless_the_injected_text_came_back(api: Api, told: Told):
    (warning,) = told.new["warnings"]
    assert "`variation_delivery`" in warning
    assert told.old["warnings"] == []
    assert json.loads(_file(api, told.new, "json"))["warnings"] == [warning]
    assert "variation_delivery" in _file(api, told.new, "html")
    with played(returns_its_prompt) as agent:
        read = api.agent(agent.url, tools_schema=[])["id"]
        asked = MATRIX | {"scenario_ids": told.scenario_ids[:1], "agent_id": read}
        assert ended_matrix(api, api.post(f"{V1}/matrix", asked, 202)["id"])["warnings"] == []
    with played(does_as_expected) as agent:
        unread = api.agent(agent.url, tools_schema=[])["id"]
        asked |= {"agent_id": unread, "delivery": "user"}
        assert ended_matrix(api, api.post(f"{V1}/matrix", asked, 202)["id"])["warnings"] == []
