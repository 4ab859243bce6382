"""`pipelines worlds …` over a real server, read as a person reads at 80 columns."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_results_commands import Look

from support.desk import AGENT
from support.server_process import Api

Row = dict[str, Any]
BUCKETS = ("--bucket", "refunds:3", "--bucket", "not allowed:2:requests that must be refused")


@pytest.fixture
def look(api: Api, tmp_path: Path) -> Look:
    return Look(api, tmp_path)


@pytest.fixture(scope="module")
def agent(api: Api) -> str:
    made = api.post("/api/agents", AGENT | {"name": "Desk of the worlds"}, 201)
    return str(made["id"])


def fits(said: str) -> str:
    assert max(map(len, said.splitlines())) <= 80, said
    return said


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_session_from_its_world_to_its_dataset(look: Look, agent: str, api: Api, tmp_path: Path) -> None:
    said = fits(look("worlds", "new", "--agent", agent, "--size", "compact", "--seed", "7", *BUCKETS))
    assert "Desk of the worlds world" in said
    assert "The world:" in said
    assert "order (" in said
    assert "chosen for you" not in said
    number = said.split()[1].rstrip(":")
    assert f"next: pipelines worlds continue {number}" in said
    listed = fits(look("worlds", "ls"))
    assert f"{number} " in listed
    assert "world_review" in listed
    assert "order" in fits(look("worlds", "show", number, "--type", "order"))
    assert "no type 'parcel'" in look("worlds", "show", number, "--type", "parcel", code=2)

    (tmp_path / "world.json").write_text('{"order": {"o-1": {"status": "pending"}}}')
    pasted = fits(look("worlds", "paste", number, "world.json", "--revision", "1"))
    assert "Revision 2: pasted" in pasted
    assert '+ order.o-1 {"status": "pending"}' in pasted
    stale = look("worlds", "paste", number, "world.json", "--revision", "1", code=2)
    assert "is at revision 2" in words(stale)
    assert "Revision 3: back as it was" in fits(look("worlds", "undo", number))
    assert "Revision 4: new" in fits(look("worlds", "regenerate", number))
    again = look.json("worlds", "regenerate", number, "--seed", "7")
    assert again["number"] == 5
    history = fits(look("worlds", "show", number, "--revisions"))
    assert [line.split()[1] for line in history.splitlines()[1:] if line[0].isdigit()] == [
        *("regenerated", "regenerated", "undone", "pasted", "made"),
    ]
    assert "There are no rows yet" in look("worlds", "rows", number)

    made = fits(look("worlds", "continue", number, "--revision", "5"))
    assert "refunds:" in made
    assert "refund_order" in made
    assert f"next: pipelines worlds finalize {number}" in made
    rows = look.json("worlds", "rows", number)
    assert {row["bucket"] for row in rows} == {1, 2}
    assert "proof" in fits(look("worlds", "rows", number, "--full", "--bucket", "refunds"))
    look("worlds", "rows", number, "--rejected")
    dropped = fits(look("worlds", "drop", number, "--row", str(rows[0]["id"])))
    assert "2 of 2 rows" in dropped
    look("worlds", "regenerate", number, "--row", str(rows[1]["id"]))
    look("worlds", "regenerate", number, "--bucket", "2")
    now = look.json("worlds", "rows", number)
    assert {rows[0]["id"], rows[1]["id"]}.isdisjoint(row["id"] for row in now)

    ended = fits(look("worlds", "finalize", number))
    assert f"has {len(now)} tasks over one world" in words(ended)
    session = look.json("worlds", "show", number)
    assert session["status"] == "finalized"
    assert f"--dataset {session['dataset_id']}" in ended
    assert api.get(f"/api/datasets/{session['dataset_id']}")["task_count"] == len(now)
    late = look("worlds", "refine", number, "add 1 order", code=2)
    assert "it is a dataset and can no longer change" in words(late)


def test_buckets_that_nobody_named_are_chosen_and_said_to_be(look: Look, agent: str) -> None:
    said = fits(look("worlds", "new", "--agent", agent, "--size", "compact", "--name", "mine"))
    assert "Buckets (chosen for you; name your own with --bucket)" in said
    number = said.split()[1].rstrip(":")
    assert f"Session {number}: mine" in said
    assert look("worlds", "abandon", number) == f"Session {number} is abandoned.\n"
    assert look.json("worlds", "show", number)["status"] == "abandoned"


def test_a_bucket_with_too_few_rows_says_why(look: Look, agent: str) -> None:
    buckets = ("--bucket", "refunds:1", "--bucket", "moonlight:1")
    number = str(look.json("worlds", "new", "--agent", agent, "--size", "compact", *buckets)["id"])
    why = "No rows for the theme “moonlight”"
    assert why not in words(look("worlds", "show", number))
    for told in (
        look("worlds", "continue", number),
        look("worlds", "rows", number),
        look("worlds", "show", number),
    ):
        assert why in words(fits(told))
        assert "The theme is taken to be about" not in words(told), "a full bucket needs no explanation"
    assert "The theme is taken to be about" in words(fits(look("worlds", "rows", number, "--full")))


def test_rules_come_as_text_or_as_a_file(look: Look, agent: str, tmp_path: Path) -> None:
    rule = "cancel_order only succeeds when the order's status is pending."
    (tmp_path / "rules.txt").write_text(rule)
    for given in (rule, "rules.txt"):
        made = look.json("worlds", "new", "--agent", agent, "--size", "compact", "--behavior", given)
        assert made["behavior"] == rule
        assert made["world"]["state"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("new", "--agent", "{agent}", "--bucket", "refunds"), 'written as "NAME:ROWS"'),
        (("new", "--agent", "{agent}", "--bucket", ":3"), 'written as "NAME:ROWS"'),
        (("new", "--agent", "{agent}", "--bucket", "a:0"), "must be a whole number from 1 to 1000"),
        (("new", "--agent", "nobody"), "There is no agent named 'nobody'"),
        (("new", "--agent", "{agent}", "--author", "model"), "PIPELINES_AUTHOR_MODEL"),
        (("show", "999999"), "There is no seed session 999999"),
        (("refine", "1"), "Give a sentence"),
        (("refine", "1", "x", "--fix", "1"), "Give a sentence"),
        (("drop", "1"), "Give --row N, or --bucket NAME"),
        (("regenerate", "1", "--row", "1", "--bucket", "a"), "Give --row or --bucket, not both"),
        (("regenerate", "1", "--row", "1", "--seed", "1"), "--seed is for the world"),
        (("paste", "1", "nowhere.json"), "nowhere.json: No such file"),
    ],
)
def test_what_does_not_fit_is_said_and_exits_with_2(
    look: Look, agent: str, arguments: tuple[str, ...], said: str
) -> None:
    given = [argument.format(agent=agent) for argument in arguments]
    assert said in words(look("worlds", *given, code=2))


def test_the_fix_of_an_advisory_is_asked_for_by_its_number(look: Look, agent: str, tmp_path: Path) -> None:
    number = str(look.json("worlds", "new", "--agent", agent, "--size", "compact")["id"])
    # A world with much to look at: one state for everything, all on one day.
    orders = {f"o-{at}": {"status": "pending", "created_at": "2026-05-01"} for at in range(4)}
    (tmp_path / "world.json").write_text(json.dumps({"order": orders}))
    told = look.json("worlds", "paste", number, "world.json")
    fixes = [at for at, each in enumerate(told["advisories"], 1) if each["fix"]]
    assert fixes, told["advisories"]
    assert "There is no advisory 999" in look("worlds", "refine", number, "--fix", "999", code=2)
