"""What the agent answers as data, and what its backend did not enforce, reach the verdict, now and later."""

from typing import Any

import pytest

from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.engine.judging import judge_run
from support.desk import Org, answered, refused

pytestmark = pytest.mark.anyio
Row = dict[str, Any]
ASKED = {"status": "shipped", "late": True}
NONSENSE = "Colourless green ideas sleep furiously."


async def test_an_answer_that_is_returned_as_data_is_judged_and_judged_again(org: Org) -> None:
    run = await org.run(expected_answer=ASKED)
    ended = answered(await run.finish(metadata={"answer": {"status": "Shipped", "late": True}}))
    assert [finding["check"] for finding in ended["judgement"]["findings"]][:2] == ["expected_answer"] * 2
    assert ended["verdict"] == "PASS"
    again = answered(await org.client.post(f"/api/runs/{run.id}/judge"))
    assert (again["verdict"], again["judgement"]) == (ended["verdict"], ended["judgement"])


async def test_an_answer_without_its_values_is_incomplete(org: Org) -> None:
    run = await org.run(expected_answer=ASKED)
    ended = answered(await run.finish(final_response="It has shipped."))
    assert (ended["verdict"], ended["failure_mode"]) == ("FAIL", "incomplete")


async def test_an_expected_answer_is_corrected_and_told_like_any_oracle(org: Org) -> None:
    run = await org.run(expected_answer=ASKED)
    answered(await run.finish(final_response="It has shipped."))
    path = f"/api/tasks/{run.opened['task_id']}"
    task = answered(await org.client.put(f"{path}/oracle", json={"expected_answer": {"status": "shipped"}}))
    assert (task["oracle_version"], task["odyssey_seed"]["expected_answer"]) == (2, {"status": "shipped"})
    judged = answered(await org.client.post(f"/api/runs/{run.id}/judge", params={"oracle": "present"}))
    told = [finding for finding in judged["judgement"]["findings"] if finding["check"] == "expected_answer"]
    assert [finding["status"] for finding in told] == ["held"]
    versions = answered(await org.client.get(f"{path}/oracles"))["items"]
    assert [version["expected_answer"] for version in versions] == [{"status": "shipped"}, ASKED]
    error = refused(
        await org.client.put(f"{path}/oracle", json={"expected_answer": []}), 422, "invalid_request"
    )
    assert error["details"][0]["path"] == "/expected_answer"


async def test_an_export_has_the_expected_answer(org: Org) -> None:
    dataset = await org.dataset({"user": "Where is it?", "expected_answer": ASKED})
    path = f"/api/datasets/{dataset['id']}/export"
    exported = answered(await org.client.get(path, params={"format": "json"}))
    assert exported["rows"][0]["expected_answer"] == ASKED
    text = (await org.client.get(path, params={"format": "csv"})).text
    assert '"{""status"":""shipped"",""late"":true}"' in text


async def test_the_judge_is_told_which_sentences_nobody_enforces(
    org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[RunEvidence] = []
    monkeypatch.setattr(judge_run, "judge", lambda evidence: seen.append(evidence) or judge(evidence))
    run = await org.run(behavior=f"Pending orders cannot be refunded. {NONSENSE}")
    answered(await run.finish())
    answered(await org.client.post(f"/api/runs/{run.id}/judge"))
    assert [evidence.unenforced for evidence in seen] == [(NONSENSE,)] * 2
    assert [evidence.is_strict for evidence in seen] == [False, False]
    dataset_id = answered(await org.client.get(f"/api/tasks/{run.opened['task_id']}"))["dataset_id"]
    answered(await org.client.put(f"/api/datasets/{dataset_id}/honesty", json={"honesty": "strict"}))
    answered(await org.client.post(f"/api/runs/{run.id}/judge"))
    assert seen[-1].is_strict  # a run by hand has no batch that would keep it
