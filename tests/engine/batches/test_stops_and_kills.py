"""The server killed or stopped in each phase of a run.

Nothing is lost, nothing that an agent may have seen is sent again, and what was cut off says so and can be
resumed. The agent's own record is the proof.
"""

import signal
import sqlite3
import threading
import time
from contextlib import closing, suppress

import httpx2
import pytest

from support.played_agents import Dispatch, PlayedAgent, holds, played, refunds
from support.server_process import REFUND_TASK, Api, House, events_of, eventually

pytestmark = pytest.mark.fault

TASKS = 12
HELD = 4  # what the agent takes at once
AGENT = {"max_concurrency": HELD}


def held_batch(api: Api, agent: PlayedAgent, tasks: int = TASKS) -> int:
    """A batch of which some dispatches are held open by the agent."""
    batch_id = api.start_batch(agent.url, *[REFUND_TASK] * tasks, agent=AGENT)
    eventually(lambda: agent.at_once == HELD, "the agent holds as many dispatches as it takes")
    return batch_id


def assert_cut_off(api: Api, batch_id: int, agent: PlayedAgent, seen_before: set[int]) -> None:
    """What the agent had is failed and interrupted, all else is done, and each was sent once."""
    runs = {run["id"]: run for run in api.whole_runs(batch_id)}
    assert len(runs) == TASKS
    for run_id in seen_before:
        assert (runs[run_id]["status"], runs[run_id]["error_class"]) == ("failed", "interrupted")
        assert runs[run_id]["verdict"] == "NOT_APPLICABLE"
        assert "resume" in runs[run_id]["error_json"]["detail"]
    others = [run for run_id, run in runs.items() if run_id not in seen_before]
    assert {(run["status"], run["verdict"]) for run in others} == {("completed", "PASS")}
    assert set(agent.runs_seen.values()) == {1}
    assert set(agent.runs_seen) == set(runs)


def assert_resumed_whole(api: Api, batch_id: int, agent: PlayedAgent, interrupted: set[int]) -> None:
    api.post(f"/api/batches/{batch_id}/resume", status=202)
    batch = api.ended(batch_id)
    assert batch["status"] == "completed"
    assert batch["counts"]["total"] == TASKS
    assert batch["counts"]["by_status"] == {"completed": TASKS}
    assert batch["counts"]["by_verdict"] == {"PASS": TASKS}
    assert batch["summary"]["judged"] == TASKS
    runs = api.runs(batch_id)
    assert len(runs) == TASKS + len(interrupted)
    assert [run["id"] for run in runs if run["status"] == "failed"] == sorted(interrupted)
    assert {run["id"] for run in runs if run["retried"]} == interrupted
    assert set(agent.runs_seen.values()) == {1}


def test_killed_while_agents_hold_dispatches(own_house: House):
    api = own_house.open()
    with played(holds) as agent:
        batch_id = held_batch(api, agent)
        own_house.kill()
        seen = set(agent.runs_seen)
        agent.may_answer.set()
        api = own_house.open()
        assert api.ended(batch_id)["status"] == "completed"
        assert_cut_off(api, batch_id, agent, seen)
        assert_resumed_whole(api, batch_id, agent, seen)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
@pytest.mark.slow
def test_stopped_while_agents_hold_dispatches(own_house: House, number: int):
    api = own_house.open()
    with played(holds) as agent:
        batch_id = held_batch(api, agent)
        started = time.monotonic()
        code, errors = own_house.stop(number)
        assert time.monotonic() - started < 15
        assert code in (0, -number, 128 + number), errors
        assert "Traceback" not in errors
        seen = set(agent.runs_seen)
        assert len(seen) == HELD  # nothing was sent while it went down
        agent.may_answer.set()
        api = own_house.open()
        assert api.ended(batch_id)["status"] == "completed"
        assert_cut_off(api, batch_id, agent, seen)
        assert_resumed_whole(api, batch_id, agent, seen)


@pytest.mark.slow
def test_somebody_who_watches_does_not_keep_a_server_from_stopping(own_house: House):
    api = own_house.open()

    def watch() -> None:
        with suppress(httpx2.HTTPError):
            for event, _ in events_of(api, batch_id):
                seen.append(event)

    seen: list[str] = []
    with played(holds) as agent:
        batch_id = held_batch(api, agent)
        watching = threading.Thread(target=watch)
        watching.start()
        eventually(lambda: seen, "the first event")
        code, errors = own_house.stop()
        watching.join(timeout=10)
    assert code in (0, -signal.SIGTERM), errors
    assert set(seen) == {"progress"}
    assert not watching.is_alive()


@pytest.mark.slow
def test_what_was_cut_off_says_so_as_soon_as_the_server_is_back(own_house: House):
    """Not only when its shard is taken up: who resumes at once gets a new attempt at once."""
    api = own_house.open()
    with played(holds) as agent:
        batch_id = held_batch(api, agent)
        own_house.kill()
        seen = set(agent.runs_seen)
        agent.may_answer.set()
        api = own_house.open()
        assert {run["id"] for run in api.runs(batch_id, status="failed")} == seen
        assert_resumed_whole(api, batch_id, agent, seen)


@pytest.mark.slow
def test_killed_between_the_reply_and_the_verdict(own_house: House):
    """As near as the outside comes: the kill follows the last byte of the reply."""
    api = own_house.open()

    def replies_then_kills(dispatch: Dispatch) -> None:
        dispatch.call("refund_order", {"order_id": "4521"})
        dispatch.answer("I have refunded order 4521.")
        own_house.node.process.kill()

    with played(replies_then_kills) as agent:
        batch_id = api.start_batch(agent.url, REFUND_TASK, REFUND_TASK, agent={"max_concurrency": 1})
        own_house.node.process.communicate()
        agent.behave = refunds
        seen = set(agent.runs_seen)
        assert len(seen) == 1
        api = own_house.open()
        assert api.ended(batch_id)["status"] == "completed"
        first, second = api.runs(batch_id)
        assert set(agent.runs_seen.values()) == {1}
    assert (second["status"], second["verdict"]) == ("completed", "PASS")
    ends = [("failed", "NOT_APPLICABLE"), ("completed", "PASS")]  # stored in time, or not
    assert (first["status"], first["verdict"]) in ends
    assert [row["tool_name"] for row in api.trace(first["id"])] == ["refund_order"]


@pytest.mark.slow
def test_killed_in_the_second_turn_of_a_conversation(own_house: House):
    """The agent has seen the first turn: the run is cut off, and its new attempt starts anew."""
    api = own_house.open()
    task = REFUND_TASK | {
        "user": "Hello.",
        "turn_mode": "model_as_user",
        "simulator_mode": "scripted",
        "scripted_user_turns": ["Please refund order 4521."],
    }

    def holds_the_second(dispatch: Dispatch) -> None:
        if dispatch.said == task["user"]:
            dispatch.answer("Hello! What can I do for you?")
        else:
            holds(dispatch)

    with played(holds_the_second) as agent:
        batch_id = api.start_batch(agent.url, task)
        eventually(lambda: agent.at_once == 1 and len(agent.dispatches) == 2, "the second turn is held")
        own_house.kill()
        agent.may_answer.set()
        api = own_house.open()
        assert api.ended(batch_id)["status"] == "completed"
        cut_off = api.only_run(batch_id)
        assert (cut_off["status"], cut_off["error_class"]) == ("failed", "interrupted")
        assert len(agent.dispatches) == 2
        agent.behave = lambda dispatch: (refunds if "refund" in dispatch.said else holds_the_second)(dispatch)
        api.post(f"/api/batches/{batch_id}/resume", status=202)
        assert api.ended(batch_id)["counts"]["by_verdict"] == {"PASS": 1}
        assert [dispatch.said for dispatch in agent.dispatches[2:]] == [
            task["user"],
            *task["scripted_user_turns"],
        ]


@pytest.mark.slow
def test_killed_right_after_the_end(own_house: House):
    api = own_house.open()
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * TASKS)
        api.ended(batch_id)
        before = api.runs(batch_id)
        own_house.kill()
        api = own_house.open()
        assert api.batch(batch_id)["status"] == "completed"
        assert api.runs(batch_id) == before
        assert api.post(f"/api/batches/{batch_id}/resume", status=202)["status"] == "completed"
        assert set(agent.runs_seen.values()) == {1}
        assert len(agent.runs_seen) == TASKS


@pytest.mark.slow
def test_killed_after_storing_and_before_queueing(own_house: House):
    """The two are in two databases: what is stored and not known to be queued is queued again."""
    api = own_house.open()
    with played(holds) as agent:
        batch_id = held_batch(api, agent)
        own_house.kill()
        seen = set(agent.runs_seen)
        agent.may_answer.set()
        (own_house.directory / "durable.db").unlink()
        for beside in own_house.directory.glob("durable.db-*"):
            beside.unlink()
        with closing(sqlite3.connect(own_house.directory / "odyssey.db")) as database, database:
            database.execute("UPDATE batches SET unqueued_since = created_at")
        api = own_house.open()
        assert api.ended(batch_id)["status"] == "completed"
        assert_cut_off(api, batch_id, agent, seen)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_killed_again_and_again_at_any_moment(own_house: House, seed: int):
    """Every few replies the server dies; in the end each run was sent once and has ended."""
    total, every = 60, 3 + seed
    replies = []

    def counts(dispatch: Dispatch) -> None:
        refunds(dispatch)
        replies.append(dispatch.run_id)

    with played(counts) as agent:
        api = own_house.open()
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * total, agent=AGENT)
        for life in range(1, 6):
            wanted = min(life * every, total)
            eventually(lambda wanted=wanted: len(replies) >= wanted, "some more runs are done")
            own_house.kill()
            api = own_house.open()
        assert api.ended(batch_id)["status"] == "completed"
        runs = api.runs(batch_id)
        assert len(runs) == total
        assert {run["status"] for run in runs} <= {"completed", "failed"}
        assert {run["error_class"] for run in runs} <= {None, "interrupted"}
        assert set(agent.runs_seen.values()) == {1}
        assert set(agent.runs_seen) <= {run["id"] for run in runs}
        completed = {run["id"] for run in runs if run["status"] == "completed"}
        assert completed <= set(agent.runs_seen)
        api.post(f"/api/batches/{batch_id}/resume", status=202)
        assert api.ended(batch_id)["counts"]["by_status"] == {"completed": total}
