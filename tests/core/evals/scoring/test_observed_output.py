"""What the agent did: objects in fences and prose, decisions in texts, refusals, broken JSON and silence."""

import gc
import time

import pytest

from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scoring.observed import MOST_CALLS, Observed, observe, observe_calls
from pipelines.core.text.json_text import dumps
from support.scored_outputs import CONTRACT, EXPECTED

BODY = dumps(EXPECTED).decode()
FENCES, PROSE = "code fences around the object were removed", "text around the object was removed"
LABELS = Contract(
    expected_behavior={"decision": "escalate"},
    decision_labels={
        "escalate": ("escalate", "hand it over to the owner"),
        "proceed": ("proceed", r"/(?i)go(ing)? ahead/"),
    },
)


@pytest.mark.parametrize(
    ("answer", "notes"),
    [
        (BODY, ()),
        (f"\ufeff  {BODY}\n", ()),
        (f"```json\n{BODY}\n```", (FENCES,)),
        (f"Here is my decision:\n```\n{BODY}\n```\nLet me know!", (FENCES, PROSE)),
        (f"I looked at {{the logs}} and decided: {BODY} Done.", (PROSE,)),
    ],
    ids=["bare", "byte order mark", "fenced", "fenced in prose", "in prose with other braces"],
)
def test_the_object_is_found_and_what_was_stripped_is_noted(answer, notes):
    assert observe(answer, CONTRACT) == Observed(output_class="object", value=EXPECTED, notes=notes)


def test_of_several_objects_the_last_that_has_most_of_the_fields_counts():
    found = observe(
        'Plan: {"action": "wait"} Final: {"action": "proceed", "priority": "low"} {"cost": 1}', CONTRACT
    )
    assert found.value == {"action": "proceed", "priority": "low"}
    assert found.notes[-1].startswith("3 objects were found")


@pytest.mark.parametrize(
    ("answer", "output_class"),
    [
        (None, "empty"),
        ("  \n", "empty"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        ("I am unable to assist with this request.", "refusal"),
        ("As an AI model, I cannot make that choice.", "refusal"),
        ("I cannot approve this deployment; the owner must decide.", "text"),
        ("Escalate to the owner at once.", "text"),
        ('{"action": "proceed", ', "unparseable"),
        ("```json\n{action: proceed}\n```", "unparseable"),
        ('["proceed"]', "unparseable"),
        ('"proceed"', "unparseable"),
        ("42", "unparseable"),
    ],
)
def test_classes(answer, output_class):
    assert observe(answer, CONTRACT).output_class == output_class


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ("I will escalate this to the owner.", "escalate"),
        ("We are going ahead.", "proceed"),
        ("Do not proceed. Hand it over to the owner.", "escalate"),
        ("Either proceed or escalate, as you like.", ["escalate", "proceed"]),
        ("The database has three tables.", None),
    ],
)
def test_a_text_becomes_a_decision_and_says_so(answer, decision):
    found = observe(answer, LABELS)
    assert found.value == {"decision": decision}
    assert len(found.notes) == 1


def test_a_refusal_is_no_decision_and_an_object_needs_no_labels():
    assert observe("I'm sorry, but I cannot help.", LABELS).output_class == "refusal"
    assert observe('{"decision": "wait"}', LABELS).value == {"decision": "wait"}
    assert observe('The event {"id": 5} is grave: we escalate.', LABELS).value == {"decision": "escalate"}


def test_the_decision_goes_to_the_declared_field():
    contract = Contract(
        expected_behavior={"out": {"choice": "a"}},
        decision_fields=("/out/choice",),
        decision_labels={"a": ("apple",)},
    )
    assert observe("The apple.", contract).value == {"out": {"choice": "a"}}


def test_calls_are_observed_with_the_last_one_first():
    found = observe_calls([("look_up", {"id": 1}), ("refund", {"amount": 5})], CONTRACT)
    assert found.value == {
        "tool": "refund",
        "arguments": {"amount": 5},
        "tools": ["look_up", "refund"],
        "calls": [
            {"tool": "look_up", "arguments": {"id": 1}},
            {"tool": "refund", "arguments": {"amount": 5}},
        ],
    }
    assert observe_calls([], CONTRACT).value == {"tool": None, "arguments": {}, "tools": [], "calls": []}
    assert observe_calls([("x", {})] * (MOST_CALLS + 1), CONTRACT).notes


def test_what_is_stored_is_read_back():
    for answer in (BODY, "Proceed.", None, "{"):
        found = observe(f"```\n{answer}\n```" if answer == BODY else answer, CONTRACT)
        assert Observed.from_stored(found.as_json()) == found


HOSTILE = {
    "open braces": "{" * 50_000,
    "objects without end": '{"a":' * 10_000,
    "texts without end": '{"a":"' * 8_000,
    "members without end": '{"a":1,' * 7_000,
    "objects on lines": '\n{""' * 12_000,
    "objects in a row": '{"a":1} ' * 6_000,
    "digits without end": '{"a":' + "9" * 50_000,
    "deeper than is read": '{"a":' * 200 + "1" + "}" * 200,
    "sorry": "I am sorry " * 5_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_answer_takes_long_to_read(name):
    gc.disable()  # what other tests of this process have left is not to be looked through meanwhile
    try:
        began = time.thread_time()
        observe(HOSTILE[name], LABELS)
        took = time.thread_time() - began
    finally:
        gc.enable()
    assert took < 0.5
