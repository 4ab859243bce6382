"""Plans in words: a table of steps and what a reader is told of each."""

from pathlib import Path

import pytest

from pipelines.core.simulation.plan_text import read_plans_text
from pipelines.core.simulation.plan_words import plan_in_words
from pipelines.core.text.json_text import Json

BACKENDS = Path(__file__).parents[3] / "examples" / "backends"
REFUSED = {"status": 409, "error": "shipped"}
SENTENCES: dict[str, tuple[Json, str]] = {
    "one by its id": (
        {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
        "Look up the order whose id is the argument order_id;"
        " if there is none, refuse with 404 order_not_found.",
    ),
    "one under another name": (
        {"find": {"as": "mine", "in": "order", "where": "mine.user == args.user", "else": REFUSED}},
        "Look up the order (mine) where mine.user is the argument user;"
        " if there is none, refuse with 409 shipped.",
    ),
    "one that may be missing": (
        {"find": {"as": "order", "in": "order", "id": "args.id", "optional": True}},
        "Look for the order whose id is the argument id; there may be none.",
    ),
    "all, in order": (
        {
            "find": {
                "as": "hits",
                "in": "item",
                "all": True,
                "sort": ["-stock", "name"],
                "limit": "args.limit",
            }
        },
        "Find every item, ordered by stock, highest first, then by name,"
        " at most the argument limit, as hits.",
    ),
    "a condition": (
        {"require": "order.status == 'pending'", "else": REFUSED},
        "Refuse with 409 shipped unless order.status is “pending”.",
    ),
    "a condition that forbids": (
        {"require": "order.status != 'refunded'", "else": REFUSED | {"message": "Too late"}},
        "Refuse with 409 shipped (“Too late”) if order.status is “refunded”.",
    ),
    "a condition with not": (
        {"require": "not order.locked", "else": REFUSED},
        "Refuse with 409 shipped if order.locked.",
    ),
    "and within or": (
        {"require": "a > 1 or b <= 2 and c != null", "else": REFUSED},
        "Refuse with 409 shipped unless a is more than 1 or (b is at most 2 and c is given).",
    ),
    "changes": (
        {"set": {"order.status": "'refunded'", "order.reason": "args.reason"}},
        "Set order.status to “refunded”; set order.reason to the argument reason, if it is given.",
    ),
    "a list": ({"append": {"order.notes": "args.text"}}, "Add the argument text to the list order.notes."),
    "a new one": (
        {"add": {"in": "ticket", "attrs": {"title": "args.title", "open": True}}},
        "Add a new ticket with title = the argument title, open = true.",
    ),
    "what goes": ({"remove": ["order", "cart.items"]}, "Remove order, cart.items."),
    "a field that goes": ({"unset": "order.note"}, "Clear order.note."),
    "a flag": ({"flag": "'seen'"}, "Raise the flag “seen”."),
    "a flag that goes": ({"unflag": "args.flag"}, "Lower the flag the argument flag."),
    "what is worked out": ({"let": {"total": "order.price * 2"}}, "Work out total as order.price * 2."),
    "an error": ({"fail": REFUSED}, "Refuse with 409 shipped."),
    "an answer": ({"return": {"ok": True, "id": "order.id"}}, "Answer with {ok: true, id: order.id}."),
    "nothing": ({"return": None}, "Answer with nothing."),
    "created": ({"return": "order", "status": 201}, "Answer with order, with status 201."),
}


@pytest.mark.parametrize(("step", "said"), SENTENCES.values(), ids=SENTENCES)
def test_a_step_is_said_in_words(step: Json, said: str) -> None:
    assert [sentence.as_text() for sentence in plan_in_words([step])] == [said]


def test_what_is_inside_stands_deeper_and_keeps_its_note() -> None:
    inside = {"set": {"item.stock": "item.stock - 1"}, "note": "Sold items leave the stock."}
    plan = [
        {
            "for": "item",
            "in": "order.items",
            "do": [{"if": "item.stock > 0", "then": [inside], "else": [{"fail": REFUSED}]}],
        }
    ]
    assert [(line.depth, line.as_text(), line.note) for line in plan_in_words(plan)] == [
        (0, "For each item of order.items:", None),
        (1, "If item.stock is more than 0:", None),
        (2, "Set item.stock to item.stock - 1.", "Sold items leave the stock."),
        (1, "Otherwise:", None),
        (2, "Refuse with 409 shipped.", None),
    ]


def test_what_the_plan_wrote_is_set_apart_from_our_words() -> None:
    (line,) = plan_in_words([{"set": {"order.status": "'<b>'"}}])
    assert [part.text for part in line.words if part.is_code] == ["order.status"]


@pytest.mark.parametrize("backend", sorted(BACKENDS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_step_of_a_real_backend_has_its_sentence(backend: Path) -> None:
    for body in read_plans_text(backend.read_text()).bodies.values():
        steps = body["steps"] if isinstance(body, dict) else body
        assert isinstance(steps, list)
        said = plan_in_words(body)
        assert len([line for line in said if line.depth == 0 and line.as_text() != "Otherwise:"]) == len(
            steps
        )
        assert all(line.as_text()[0].isupper() and line.as_text()[-1] in ".:" for line in said)
