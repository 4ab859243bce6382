"""Coding scenarios, changes and gradings in storage, on SQLite and on Postgres alike."""

import pytest

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.coding.diff import ChangedFile, WorkspaceDiff
from pipelines.core.coding.grading import Grading
from pipelines.core.coding.scenario import CodingScenario, FilesSeed
from pipelines.core.coding.scorers import MaxDiffLinesScorer, Status
from pipelines.core.coding.scoring import result_of
from pipelines.core.tasks.seed import Seed
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.agents import agents
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.database.paging import Filter
from pipelines.storage.runs import batches, runs
from pipelines.storage.runs.runs import PendingRun
from pipelines.storage.tasks import coding, datasets, texts

pytestmark = pytest.mark.anyio
NOW, LATER = "2026-05-01T12:00:00.000000Z", "2026-05-01T12:01:00.000000Z"
SCORER = MaxDiffLinesScorer(name="small", type="max_diff_lines", max=3)
SCENARIO = CodingScenario(
    name="sum",
    user_instruction="Mend it. " * 100,
    workspace_seed=FilesSeed(files={"a.py": "x"}),
    scorers=(SCORER,),
    test_files={"test_a.py": "secret"},
)


@pytest.fixture
async def database(database: Database) -> Database:
    await database.write(lambda connection: (add_org(connection, "a", NOW), add_org(connection, "b", NOW)))
    return database


def _add(connection: Connection, scenario_id: str = "cs_1", org_id: int = 1, name: str = "sum") -> bool:
    made = CodingScenario(**{**_fields(), "name": name})
    return coding.add_scenario(connection, org_id=org_id, scenario_id=scenario_id, scenario=made, now=NOW)


def _fields() -> dict[str, object]:
    return {name: getattr(SCENARIO, name) for name in CodingScenario.__slots__}


async def test_a_scenario_is_found_by_its_name_and_its_id_in_its_own_org_alone(database: Database) -> None:
    assert await database.write(_add)
    assert not await database.write(lambda c: _add(c, "cs_2"))  # the name is taken
    assert await database.write(lambda c: _add(c, "cs_3", org_id=2))
    for ref in ("sum", "cs_1"):
        found = await database.read(lambda c, ref=ref: coding.scenario_by_ref(c, org_id=1, ref=ref))
        assert found is not None
        assert CodingScenario.from_stored(found.body()) == SCENARIO
    assert await database.read(lambda c: coding.scenario_by_ref(c, org_id=2, ref="cs_1")) is None
    assert await database.read(lambda c: coding.refs_of_org(c, org_id=1)) == {"sum", "cs_1"}
    bodies = await database.read(lambda c: coding.bodies_of(c, org_id=1, refs=["sum", "cs_1", "none"]))
    assert set(bodies) == {"sum", "cs_1"}


async def test_a_list_has_no_files_and_a_change_counts_its_version(database: Database) -> None:
    await database.write(_add)
    changed = await database.write(
        lambda c: coding.change_scenario(c, org_id=1, scenario_id="cs_1", scenario=SCENARIO, now=LATER)
    )
    page = await database.read(
        lambda c: coding.scenarios_of_org(c, filters=[Filter("org_id", 1)], limit=5, before_id=None)
    )
    (head,) = page.items
    assert changed
    assert (head["version"], head["updated_at"]) == (2, LATER)
    assert head["workspace_seed"] == {"type": "files", "files": 1}
    assert "secret" not in str(head)
    assert await database.write(lambda c: coding.delete_scenario(c, org_id=1, scenario_id="cs_1"))
    assert not await database.write(lambda c: coding.delete_scenario(c, org_id=1, scenario_id="cs_1"))


def _run(connection: Connection) -> tuple[int, int]:
    agent_id = agents.add_agent(connection, org_id=1, name="desk", status="published", now=NOW)
    agents.add_version(
        connection,
        agent_id=agent_id,
        definition=AgentDefinition(name="desk"),
        sealed_auth_header=None,
        status="published",
        now=NOW,
    )
    dataset_id = datasets.add_dataset(connection, org_id=1, name="d", agent_id=agent_id, now=NOW)
    written = datasets.as_texts(Seed(user_instruction="x", coding_scenario=SCENARIO.as_json()))
    for part in texts.slices_of(written.texts):
        texts.add_parts(connection, part, now=NOW)
    datasets.add_tasks(connection, org_id=1, dataset_id=dataset_id, tasks=[written.task], now=NOW)
    batch_id = batches.add_batch(
        connection,
        org_id=1,
        agent_id=agent_id,
        agent_version=1,
        dataset_id=dataset_id,
        repeats=1,
        concurrency=1,
        now=NOW,
    )
    (task,) = datasets.tasks_to_run(connection, dataset_id, limit=10, after_id=None).items
    assert task.is_coding
    pending = PendingRun(
        task=task,
        agent_id=agent_id,
        agent_version=1,
        repeat_number=1,
        jti="j",
        token_hash="t",
        fault_seed=0,
        created_at=NOW,
    )
    runs.add_pending_runs(connection, batch_id, [pending])
    (row,) = connection.execute("SELECT id FROM runs").fetchall()
    return row[0], batch_id


async def test_a_change_is_kept_byte_by_byte_and_its_last_grading_counts(database: Database) -> None:
    run_id, batch_id = await database.write(_run)
    file = ChangedFile(path="a.py", change="modified", added=1)
    diff = WorkspaceDiff(patch="+caf\udce9\0\n", files=(file,), ignored_files=("x.log",), ignored_total=1)
    for signs in ([], ["a sign"]):  # sent again after a kill
        await database.write(
            lambda c, signs=signs: coding.keep_workspace(
                c, run_id=run_id, baseline={"commit": "c"}, diff=diff, signs=signs
            )
        )
    kept = await database.read(lambda c: coding.workspace_of_run(c, run_id))
    assert kept == coding.RunWorkspace({"commit": "c"}, diff, ("a sign",))
    for status in (Status.FAIL, Status.PASS):
        grading = Grading(results=(result_of(SCORER, status, "because"),), diff=diff)
        await database.write(
            lambda c, grading=grading: coding.add_grading(
                c, run_id=run_id, grading=grading, scorers=[SCORER.as_json()], now=NOW
            )
        )
    last = await database.read(lambda c: coding.grading_of_run(c, run_id))
    assert last is not None
    assert last["passed"] is True
    assert len(await database.read(lambda c: coding.gradings_of_run(c, run_id, most=5))) == 2
    assert await database.read(lambda c: coding.workspace_runs_of_batch(c, batch_id=batch_id)) == []
    await database.write(lambda c: c.execute("UPDATE runs SET status = 'completed'"))
    assert await database.read(lambda c: coding.workspace_runs_of_batch(c, batch_id=batch_id)) == [run_id]
