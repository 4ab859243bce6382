"""Datasets over HTTP: checked whole, refused whole, given back as they came."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.task_files.upload_warnings import MOST_READ
from support.desk import STATE, TASK, Org, Row, answered, every_item, open_house, outage, refused

pytestmark = pytest.mark.anyio

#: Every column once, under the names of the CSV.
FULL_ROW: Row = {
    "user": 'Refund order #4521,\r\nif it “shipped” "late".',
    "behavior": "The refund_order tool rejects any order whose status is pending.",
    "state": STATE | {"flags": {"vip": True}},
    "now": "2026-05-01T12:00:00.000000Z",
    "failure_rules": [outage("refund_order", n=1)],
    "expected_outcome": "refusal",
    "turn_mode": "model_as_user",
    "max_turns": 4,
    "memory_mode": "stateful",
    "simulator_mode": "scripted",
    "user_simulator_persona": "Impatient",
    "scripted_user_turns": ["Yes, go ahead.", "=1+1"],
    "tracked_constraints": ["never asks twice", {"id": "c", "description": "stays polite"}],
    "termination_keyword": "goodbye",
    "expected_state": {"order": {"4521": {"status": "refunded"}}},
    "expected_calls": [{"tool": "refund_order"}],
    "task_input": {"customer_id": "cust_99"},
    "tags": ["a", "b,c"],
}


def as_csv(*rows: Row) -> bytes:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        cells = [row.get(name, "") for name in columns]
        writer.writerow([cell if isinstance(cell, str) else json.dumps(cell) for cell in cells])
    return text.getvalue().encode()


async def upload(org: Org, data: bytes, **fields: str) -> Any:
    return await org.client.post("/api/datasets", files={"file": ("tasks.csv", data)}, data=fields)


async def seeds_of(org: Org, dataset_id: int) -> list[Row]:
    tasks = await every_item(org.client, f"/api/datasets/{dataset_id}/tasks", limit=2)
    whole = [answered(await org.client.get(f"/api/tasks/{task['id']}")) for task in tasks]
    return [task["odyssey_seed"] for task in whole]


async def test_a_csv_becomes_tasks_whose_seeds_use_the_axis_names(org: Org) -> None:
    agent = await org.agent()
    made = answered(await upload(org, as_csv(FULL_ROW, TASK), name="mine", agent_id=str(agent["id"])), 201)
    assert (made["name"], made["agent_id"], made["task_count"]) == ("mine", agent["id"], 2)
    seed, plain = await seeds_of(org, made["id"])
    assert seed == {
        "user_instruction": FULL_ROW["user"],
        "behavior_instructions": FULL_ROW["behavior"],
        "initial_state": FULL_ROW["state"],
        "tracked_constraints": [
            {"id": "constraint_1", "description": "never asks twice"},
            {"id": "c", "description": "stays polite"},
        ],
        **{
            name: FULL_ROW[name]
            for name in FULL_ROW.keys() - {"user", "behavior", "state", "tracked_constraints"}
        },
    }
    assert plain == {"user_instruction": TASK["user"], "initial_state": STATE}


async def test_json_rows_and_their_csv_make_the_same_seeds(org: Org) -> None:
    by_json = await org.dataset(FULL_ROW, TASK)
    by_csv = answered(await upload(org, as_csv(FULL_ROW, TASK), name="csv"), 201)
    assert await seeds_of(org, by_json["id"]) == await seeds_of(org, by_csv["id"])


async def test_an_exported_csv_uploads_to_the_same_seeds(org: Org) -> None:
    made = await org.dataset(FULL_ROW, TASK, {"user": '  spaces kept, "quotes" too\n'})
    reply = await org.client.get(f"/api/datasets/{made['id']}/export")
    assert reply.headers["content-type"].startswith("text/csv")
    assert "attachment" in reply.headers["content-disposition"]
    again = answered(await upload(org, reply.content, name="again"), 201)
    assert await seeds_of(org, again["id"]) == await seeds_of(org, made["id"])
    twice = await org.client.get(f"/api/datasets/{again['id']}/export")
    assert twice.content == reply.content


async def test_an_exported_json_is_the_body_that_uploads_to_the_same_seeds(org: Org) -> None:
    made = await org.dataset(FULL_ROW, TASK, {"user": "[1, 2]"})
    reply = await org.client.get(f"/api/datasets/{made['id']}/export", params={"format": "json"})
    again = answered(await org.client.post("/api/datasets", json=answered(reply)), 201)
    assert (again["name"], again["task_count"]) == (made["name"], 3)
    assert await seeds_of(org, again["id"]) == await seeds_of(org, made["id"])
    bad = await org.client.get(f"/api/datasets/{made['id']}/export", params={"format": "xml"})
    refused(bad, 422, "invalid_request")


async def test_a_bad_upload_names_every_bad_cell_and_stores_nothing(org: Org) -> None:
    agent = await org.agent()
    rows: list[Row] = [
        {"user": "fine"},
        {"user": "", "state": "{'order': 1}"},
        {"user": "x", "failure_rules": [outage("refund_ordr", n=0)]},
        {"user": "x", "expected_outcome": "maybe", "max_turns": "many"},
    ]
    reply = await upload(org, as_csv(*rows), name="bad", agent_id=str(agent["id"]))
    details = refused(reply, 422, "invalid_request")["details"]
    cells = {(problem.get("row"), problem.get("column")) for problem in details}
    assert {
        (3, "user"),
        (3, "state"),
        (4, "failure_rules"),
        (5, "expected_outcome"),
        (5, "max_turns"),
    } <= cells
    assert (2, "user") not in cells
    rules = [problem for problem in details if problem.get("column") == "failure_rules"]
    assert any("refund_order" in problem.get("hint", "") for problem in rules)
    assert len(rules) == 2
    assert answered(await org.client.get("/api/datasets"))["items"] == []


async def test_every_time_that_is_none_is_refused_with_its_row_at_once(org: Org) -> None:
    rows: list[Row] = [{"user": "a", "now": "2026-05-01"}, {"user": "b", "now": "May 1st"}]
    rows += [{"user": "c", "now": "2026-13-01"}, {"user": "d", "now": ""}]
    in_sheet = await upload(org, as_csv(*rows), name="bad")
    in_json = await org.client.post("/api/datasets", json={"name": "bad", "rows": rows})
    for reply, found in ((in_sheet, [3, 4]), (in_json, [2, 3])):
        details = refused(reply, 422, "invalid_request")["details"]
        assert [(problem["row"], problem["column"]) for problem in details] == [(row, "now") for row in found]
        assert all("2026-05-01T12:00:00Z" in problem["hint"] for problem in details)


async def test_a_column_by_the_name_of_a_dispatched_request_hints_at_its_own_name(org: Org) -> None:
    rows: list[Row] = [{"user": "a", "current_state": {"order": 1}}]
    in_json = await org.client.post("/api/datasets", json={"name": "x", "rows": rows})
    for reply in (in_json, await upload(org, b"user,current_state\nhi,{}\n", name="x")):
        (problem,) = refused(reply, 422, "invalid_request")["details"]
        assert "unknown column `current_state`" in problem["message"]
        assert problem["hint"].startswith("did you mean `task_input`?")


async def test_an_axis_name_as_header_is_taken_with_a_note(org: Org) -> None:
    made = answered(await upload(org, b"User Instruction;tags\nhi;red\n", name="x"), 201)
    assert made["notes"] == [
        "The columns are separated by semicolons.",
        "The column `User Instruction` is used as `user`. Did you mean `user`?",
    ]
    (problem,) = refused(await upload(org, b"user_instruction,user\nhi,red\n"), 422, "invalid_request")[
        "details"
    ]
    assert "all name the column `user`" in problem["message"]


FILES: dict[str, tuple[str, bytes]] = {
    "CSV": ("t.csv", b"user,tags\nhi,x\n"),
    "a sheet of Excel as Unicode text": ("t.txt", "user\ttags\r\nhi\tx\r\n".encode("utf-16")),
    "YAML": ("t.yaml", b"- user: hi\n  tags: [x]\n"),
    "JSON": ("t.json", b'[{"user": "hi", "tags": ["x"]}]'),
    "JSON lines": ("t.jsonl", b'{"user": "hi", "tags": "x"}\n'),
}


@pytest.mark.parametrize("case", FILES)
async def test_every_format_of_a_file_makes_the_same_task(org: Org, case: str) -> None:
    made = answered(await org.client.post("/api/datasets", files={"file": FILES[case]}), 201)
    assert await seeds_of(org, made["id"]) == [{"user_instruction": "hi", "tags": ["x"]}]
    added = await org.client.post(f"/api/datasets/{made['id']}/tasks", files={"file": FILES[case]})
    assert answered(added, 201)["task_count"] == 2


async def test_modes_that_are_inferred_are_said(org: Org) -> None:
    made = await org.dataset({"user": "a", "scripted_user_turns": ["Yes."]}, {"user": "b"})
    assert [note.split(":")[0] for note in made["notes"]] == ["Task 1", "Task 1"]
    assert (await seeds_of(org, made["id"]))[0]["simulator_mode"] == "scripted"


async def test_what_cannot_run_is_refused_when_it_is_uploaded(org: Org) -> None:
    alone = {"user_simulator_persona": "Ada", "turn_mode": "single_shot"}
    rows = [{"user": "a", **alone}, {"user": "b", "workspace_seed": "git"}]
    reply = await org.client.post("/api/datasets", json={"name": "x", "rows": rows})
    found = refused(reply, 422, "invalid_request")["details"]
    assert [(problem["row"], problem["column"]) for problem in found] == [
        (1, "user_simulator_persona"),
        (2, "workspace_seed"),
    ]


async def test_a_persona_is_uploaded_with_a_note_and_runs_only_with_a_model(org: Org) -> None:
    made = await org.dataset({"user": "a", "user_simulator_persona": "Ada"})
    assert "PIPELINES_USER_MODEL" in made["notes"][-1]
    agent = await org.agent()
    reply = await org.client.post("/api/runs", json={"agent_id": agent["id"], "dataset_id": made["id"]})
    assert "PIPELINES_USER_MODEL" in refused(reply, 422, "model_not_configured")["message"]


async def test_an_upload_without_an_agent_takes_any_tool_name(org: Org) -> None:
    made = await org.dataset(TASK | {"failure_rules": [outage("anything", n=1)]})
    assert (made["agent_id"], made["task_count"]) == (None, 1)


async def test_rows_are_checked_against_the_agents_ledger_schema(org: Org) -> None:
    schema = {"entities": [{"type": "order", "id_field": "order_id"}]}
    agent = await org.agent(ledger_schema=schema)
    body = {"name": "x", "agent_id": agent["id"], "rows": [TASK]}  # has items too
    details = refused(await org.client.post("/api/datasets", json=body), 422, "invalid_request")["details"]
    assert [(problem["row"], problem["column"]) for problem in details] == [(1, "state")]


async def test_rows_can_be_added_and_a_bad_addition_adds_nothing(org: Org) -> None:
    made = await org.dataset(TASK)
    path = f"/api/datasets/{made['id']}/tasks"
    added = answered(await org.client.post(path, json={"rows": [{"user": "b"}, {"user": "c"}]}), 201)
    assert (added["task_count"], len(added["task_ids"])) == (3, 2)
    more = answered(await org.client.post(path, files={"file": ("more.csv", b"user\nd\n")}), 201)
    assert more["task_count"] == 4
    refused(await org.client.post(path, json={"rows": [{"user": "e"}, {"user": ""}]}), 422, "invalid_request")
    tasks = await every_item(org.client, path, limit=3)
    assert [task["row_number"] for task in tasks] == [1, 2, 3, 4]
    seeds = await seeds_of(org, made["id"])
    assert [seed["user_instruction"] for seed in seeds] == [TASK["user"], "b", "c", "d"]


@pytest.mark.parametrize(
    ("extra", "code"),
    [({"name": "x"}, "invalid_request"), ({"agent_id": 1}, "invalid_request"), ({"x": 1}, "invalid_request")],
)
async def test_an_addition_takes_rows_and_nothing_else(org: Org, extra: Row, code: str) -> None:
    made = await org.dataset(TASK)
    reply = await org.client.post(f"/api/datasets/{made['id']}/tasks", json={"rows": [TASK]} | extra)
    refused(reply, 422, code)


async def test_additions_at_the_same_moment_each_get_their_own_places(org: Org) -> None:
    import asyncio

    made = await org.dataset(TASK)
    path = f"/api/datasets/{made['id']}/tasks"
    replies = await asyncio.gather(
        *(org.client.post(path, json={"rows": [{"user": f"{n}"}] * 3}) for n in range(10))
    )
    assert {reply.status_code for reply in replies} == {201}
    tasks = await every_item(org.client, path, limit=7)
    assert [task["row_number"] for task in tasks] == list(range(1, 32))


@pytest.mark.parametrize(("count", "status"), [(1, 201), (5000, 201), (5001, 422), (0, 422)])
async def test_one_call_takes_one_to_five_thousand_rows(org: Org, count: int, status: int) -> None:
    reply = await org.client.post("/api/datasets", json={"name": "x", "rows": [{"user": "u"}] * count})
    assert reply.status_code == status, reply.text[:300]


async def test_only_the_first_thousand_problems_are_listed_and_all_are_counted(org: Org) -> None:
    reply = await org.client.post("/api/datasets", json={"name": "x", "rows": [{"user": ""}] * 1500})
    error = refused(reply, 422, "invalid_request")
    assert len(error["details"]) == 1000
    assert "1500" in error["message"]


async def test_a_seed_and_a_world_used_by_many_rows_are_stored_once(org: Org, house: Any) -> None:
    await org.dataset(*[TASK] * 20)
    await org.dataset(*[TASK] * 20, TASK | {"user": "Something else."})
    stored = await house.platform.database.read(
        lambda connection: connection.execute("SELECT COUNT(*) FROM texts").fetchone()[0]
    )
    assert stored == 3  # two seeds, and the world of both


async def test_behaviour_that_is_not_read_is_a_warning_with_its_row(org: Org) -> None:
    agent = await org.agent()
    odd = "The wibble of the fleem blorbs sideways on every Tuesday."
    rows = [TASK, TASK | {"behavior": f"{odd} cancel_order fails when the order is shipped."}]
    made = await org.dataset(*rows, agent_id=agent["id"])
    shown = [(one["row"], one["read_as"], one["not_read"] is None) for one in made["sentences"]]
    assert shown == [(2, [], False), (2, ["cancel_order fails when the order's status is 'shipped'."], True)]
    assert made["sentences"][0]["not_read"]["suggestions"] == [], "nothing is near"
    (example,) = made["sentences"][1]["examples"]
    assert [call["status"] for call in example["refused"]] == [409]
    told = [(warning["row"], warning["column"]) for warning in made["warnings"]]
    assert [place for place in told if place[1] == "behavior"] == [(2, "behavior")]


async def test_behaviour_that_comes_out_the_same_for_all_is_a_warning_with_its_row(org: Org) -> None:
    agent = await org.agent()
    state = {"order": {one: {"status": "paid", "total": 5} for one in ("1", "2")}}
    row = TASK | {"state": state, "behavior": "cancel_order fails when the order's total is above 50."}
    made = await org.dataset(row, agent_id=agent["id"])
    told = [warning["message"] for warning in made["warnings"] if warning.get("column") == "behavior"]
    assert told == [
        "cancel_order fails when the order's total is above 50. (in the seeded world every order passes)"
    ]


BAD_FORMS: dict[str, Any] = {
    "no file": {"data": {"name": "x"}, "files": {"name": (None, "x")}},
    "an empty file": {"files": {"file": ("a.csv", b"")}},
    "only a header": {"files": {"file": ("a.csv", b"user\n")}},
    "half of a UTF-16": {"files": {"file": ("a.csv", "user\nhi\n".encode("utf-16")[:-1])}},
    "a PDF": {"files": {"file": ("a.pdf", b"%PDF-1.7")}},
    "a YAML that is none": {"files": {"file": ("a.yaml", b"- [")}},
    "not UTF-8": {"files": {"file": ("a.csv", b"user\n\xff\n")}},
    "a spreadsheet": {"files": {"file": ("a.xlsx", b"PK\x03\x04\0\0")}},
    "an open quote": {"files": {"file": ("a.csv", b'user\n"never closed')}},
    "an unknown field": {"files": {"file": ("a.csv", b"user\nx\n")}, "data": {"colour": "red"}},
    "an agent that is no number": {"files": {"file": ("a.csv", b"user\nx\n")}, "data": {"agent_id": "mine"}},
    "an agent too large": {"files": {"file": ("a.csv", b"user\nx\n")}, "data": {"agent_id": "9" * 30}},
    "an agent far too large": {"files": {"file": ("a.csv", b"user\nx\n")}, "data": {"agent_id": "9" * 5000}},
    "a blank name": {"files": {"file": ("a.csv", b"user\nx\n")}, "data": {"name": " "}},
    "a long name": {"files": {"file": ("a.csv", b"user\nx\n")}, "data": {"name": "x" * 256}},
}


@pytest.mark.parametrize("case", BAD_FORMS)
async def test_a_form_that_makes_no_dataset_is_refused_with_a_reason(org: Org, case: str) -> None:
    reply = await org.client.post("/api/datasets", **BAD_FORMS[case])
    refused(reply, 422, "invalid_request")


async def test_a_file_without_a_name_of_its_own_gets_the_files(org: Org) -> None:
    made = answered(await org.client.post("/api/datasets", files={"file": ("desk.csv", b"user\nx\n")}), 201)
    assert made["name"] == "desk.csv"


async def test_an_upload_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    async with open_house(tmp_path, upload_limit_mb=1) as house:
        org = house.owner
        big = b"user\n" + b"x" * (1024 * 1024) + b"\n"
        refused(await upload(org, big, name="x"), 413, "body_too_large")
        body = json.dumps({"name": "x", "rows": [{"user": big.decode()}]}).encode()
        headers = {"content-type": "application/json"}
        reply = await org.client.post("/api/datasets", content=body, headers=headers)
        refused(reply, 413, "body_too_large")
        answered(await upload(org, b"user\nsmall\n", name="x"), 201)


async def test_lists_filter_by_agent(org: Org) -> None:
    agent, other = await org.agent(), await org.agent()
    mine = await org.dataset(agent_id=agent["id"])
    await org.dataset(agent_id=other["id"])
    await org.dataset()
    items = answered(await org.client.get("/api/datasets", params={"agent_id": agent["id"]}))["items"]
    assert [item["id"] for item in items] == [mine["id"]]
    assert len(await every_item(org.client, "/api/datasets", limit=1)) == 3


async def test_a_dataset_outlives_its_agent(org: Org) -> None:
    agent = await org.agent()
    made = await org.dataset(agent_id=agent["id"])
    assert (await org.client.delete(f"/api/agents/{agent['id']}")).status_code == 204
    answered(await org.client.get(f"/api/datasets/{made['id']}"))
    added = await org.client.post(f"/api/datasets/{made['id']}/tasks", json={"rows": [TASK]})
    assert answered(added, 201)["task_count"] == 2


async def test_more_behaviour_texts_than_are_read_at_once_are_stored_and_said_to_be_unread(org: Org) -> None:
    agent_id = (await org.agent())["id"]
    told = [TASK | {"behavior": f"Squirrels number {n} are purple."} for n in range(MOST_READ + 20)]
    made = await org.dataset(*told, told[0], agent_id=agent_id)
    unread, *understood = [each for each in made["warnings"] if each["column"] == "behavior"]
    assert made["task_count"] == len(told) + 1
    assert (unread["row"], unread["column"]) == (MOST_READ + 1, "behavior")
    assert "20 rows" in unread["message"]
    assert [warning["row"] for warning in understood] == [*range(1, MOST_READ + 1)]
    assert understood[0]["message"].endswith(f"(also row {len(told) + 1})")
