"""The world behind replies: records from reads, effects from what is read later, and what stays open."""

from pipelines.core.ledger.ledger import Add, Update
from pipelines.core.simulation.learning.replies_only import has_replies_alone, with_inferred_world
from support.learnt_plans import Row, answer, called, learnt, recorded, searched_plan, tool


def session(*calls: Row) -> Row:
    return {"calls": list(calls)}


def read(id: str, status: str) -> Row:
    return called("get_order", {"order_id": id}, {"order_id": id, "status": status, "city": f"city of {id}"})


def cancel(id: str) -> Row:
    return called("cancel_order", {"order_id": id}, {"ok": True})


def test_a_record_is_what_it_said_first_and_a_write_between_two_reads_changed_it() -> None:
    recording = recorded([session(read("o1", "open"), cancel("o1"), read("o1", "cancelled"))])
    assert has_replies_alone(recording)
    found = with_inferred_world(recording)
    [task] = found.recording.tasks
    assert task.state == {"order": {"o1": {"order_id": "o1", "status": "open", "city": "city of o1"}}}
    assert task.calls[1].updates == (Update(entity_type="order", id="o1", set={"status": "cancelled"}),)
    assert found.unseen == ()


def test_what_a_read_of_one_task_shows_holds_in_all_unless_they_differ() -> None:
    recording = recorded(
        [session(read("o1", "open")), session(read("o2", "open")), session(read("o1", "done"))]
    )
    found = with_inferred_world(recording)
    assert found.state["order"] == {
        "o1": {"order_id": "o1", "city": "city of o1"},
        "o2": {"order_id": "o2", "status": "open", "city": "city of o2"},
    }


def test_an_effect_that_nothing_shows_is_told() -> None:
    found = with_inferred_world(recorded([session(read("o1", "open"), cancel("o1"))]))
    assert found.unseen == (
        "What 1 of 1 calls of cancel_order changed: nothing that was read later shows it",
    )


def test_a_change_is_not_laid_on_one_of_two_writes_that_do_not_name_the_record() -> None:
    other = called("update_desk", {"name": "x"}, {"ok": True})
    found = with_inferred_world(recorded([session(read("o1", "open"), other, other, read("o1", "late"))]))
    assert not any(call.updates for call in found.recording.tasks[0].calls)


def test_a_record_that_a_write_answers_first_was_added_by_it() -> None:
    made = called("create_order", {"city": "Graz"}, {"order_id": "o7", "status": "open"})
    found = with_inferred_world(recorded([session(made, read("o7", "open"))]))
    [task] = found.recording.tasks
    assert task.state == {}
    [added] = task.calls[0].updates
    assert isinstance(added, Add)
    assert (added.entity_type, added.id, added.attrs["status"]) == ("order", "o7", "open")


def test_plans_are_learnt_from_replies_alone() -> None:
    tasks = [
        session(read("o1", "open"), read("o2", "open"), cancel("o1"), read("o1", "cancelled")),
        session(read("o3", "open"), cancel("o3"), read("o3", "cancelled"), read("o2", "open")),
    ]
    plans = learnt(tasks, tool("get_order", "order_id"), tool("cancel_order", "order_id"))
    plan = searched_plan(plans, "cancel_order")
    reply = answer(plan, {"order_id": "77"}, {"order": {"77": {"status": "open"}}})
    assert reply.updates == (Update(entity_type="order", id="77", set={"status": "cancelled"}),)
    assert plans.inferred_state is not None
