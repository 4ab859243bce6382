"""Shift: the specification's golden table, what a distance must be, and answers that are made to cost."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.scenarios.contract import Contract, LeafRule
from pipelines.core.evals.scoring.leaf_distance import edit_distance, least_cost
from pipelines.core.evals.scoring.observed import EMPTY, Observed
from pipelines.core.evals.scoring.shift import shift
from support.scored_outputs import AS_EXPECTED, CONTRACT, EXPECTED, output, text

REFUSAL = Observed(output_class="refusal", value="I cannot help with that.")
BROKEN = Observed(output_class="unparseable", value="{")

GOLDEN = [
    ("none", {}, 0.0),
    ("priority high to medium", {"priority": "medium"}, 0.067),
    ("action to proceed", {"action": "proceed"}, 0.600),
    ("action to escalate_to_team", {"action": "escalate_to_team"}, 0.600),
    ("rollback plan to false", {"include_rollback_plan": False}, 0.200),
    ("rollback plan missing", {"include_rollback_plan": ...}, 0.200),
    ("all three", {"action": "proceed", "priority": "low", "include_rollback_plan": False}, 0.933),
    ("an extra key with reasoning", {"reasoning": "The migration was rolled back, so I escalate."}, 0.0),
    ("empty object", dict.fromkeys(EXPECTED, ...), 1.0),
]


@pytest.mark.parametrize(("changes", "distance"), [case[1:] for case in GOLDEN], ids=[c[0] for c in GOLDEN])
def test_golden_table(changes, distance):
    found = shift(CONTRACT, AS_EXPECTED, output(**changes))
    assert round(found.distance, 3) == distance


def test_components_say_which_field_moved_and_extra_paths_are_listed_apart():
    found = shift(
        CONTRACT, AS_EXPECTED, output(priority="low", note={"why": "calm"}, include_rollback_plan=...)
    )
    moved = [each.as_json() for each in found.components if each.distance]
    assert moved == [
        {
            "path": "/priority",
            "kind": "scale",
            "weight": 0.2,
            "distance": pytest.approx(2 / 3),
            "from": "high",
            "to": "low",
        },
        {
            "path": "/include_rollback_plan",
            "kind": "boolean",
            "weight": 0.2,
            "distance": 1.0,
            "from": True,
            "to": None,
            "to_missing": True,
        },
    ]
    assert found.extra_paths == ("/note",)
    assert not found.is_flip
    assert found.method == "contract"


def leaf(expected, before, after, **rule):
    contract = Contract(expected_behavior={"x": expected}, fields={"/x": LeafRule(**rule)})
    pair = (Observed(output_class="object", value={} if v is ... else {"x": v}) for v in (before, after))
    return shift(contract, *pair).distance


LEAVES = [
    ("true is not one", True, True, 1, {}, 1),
    ("one is one point nought", 1, 1, 1.0, {}, 0),
    ("null is not missing", None, None, ..., {}, 1),
    ("null is not an empty text", "", "", None, {}, 1),
    ("missing on both sides", "a", ..., ..., {}, 0),
    ("case and spaces of an id", "proceed", "Proceed ", "proceed", {}, 0),
    ("number in proportion", 100, 100, 80, {}, 0.2),
    ("number within tolerance", 100, 100, 101, {"tolerance": 1}, 0),
    ("number within a share", 100, 100, 95, {"relative_tolerance": 0.05}, 0),
    ("number of another sign", 5, 5, -5, {}, 1),
    ("number from nought", 0, 0, 5, {}, 1),
    ("type clash", 5, 5, "5", {}, 1),
    ("known scale", "low", "low", "critical", {}, 1),
    ("declared scale", "S", "S", "M", {"kind": "scale", "levels": ("S", "M", "L")}, 0.5),
    ("off the scale", "low", "low", "urgent", {}, 1),
    ("set of scalars", ["a", "b"], ["a", "b"], ["b", "c"], {}, 2 / 3),
    ("order of a set", ["a", "b"], ["a", "b"], ["b", "a"], {}, 0),
    ("true is not one in a list", [True], [True], [1], {}, 1),
    ("ordered list", ["a", "b", "c"], ["a", "b", "c"], ["a", "c"], {"kind": "ordered_list"}, 1 / 3),
    ("objects best assigned", [], [{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}], {}, 0),
    ("an object without partner", [], [{"a": "x"}], [{"a": "x"}, {"a": "y"}], {}, 0.5),
    (
        "objects that differ, and one more",
        [],
        [{"a": "x", "b": "y"}],
        [{"a": "q", "b": "r"}, {"a": "x", "b": "z"}],
        {},
        0.75,
    ),
    ("half an object", [], [{"a": "x", "b": "y"}], [{"a": "x", "b": "z"}], {}, 0.5),
    ("matcher on a number", {"$gte": 5}, 10, 5, {}, 0.5),
    ("matcher on a choice", {"$in": ["a", "b"]}, "a", "b", {}, 1),
    ("an object under a matcher", {"$exists": True}, {"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {}, 0.5),
]


@pytest.mark.parametrize(
    ("expected", "before", "after", "rule", "distance"), [c[1:] for c in LEAVES], ids=[c[0] for c in LEAVES]
)
def test_leaf_distances(expected, before, after, rule, distance):
    assert leaf(expected, before, after, **rule) == pytest.approx(distance)
    assert leaf(expected, after, before, **rule) == pytest.approx(distance)


def test_classes_are_one_from_any_answer_and_nought_from_their_own_kind():
    for silent in (REFUSAL, BROKEN, EMPTY):
        assert shift(CONTRACT, AS_EXPECTED, silent).distance == 1
        assert shift(CONTRACT, silent, AS_EXPECTED).is_flip
        assert shift(CONTRACT, text("Escalate."), silent).distance == 1
    another = Observed(output_class="refusal", value="Sorry, no.")
    assert shift(CONTRACT, REFUSAL, another).distance == 0
    assert shift(CONTRACT, REFUSAL, BROKEN).distance == 1


def test_declared_decisions_and_weights_share_as_said():
    contract = Contract(
        expected_behavior={"route": {"queue": "a", "level": "low"}, "note": "b", "tag": "c"},
        decision_fields=("route",),
        fields={"/route/queue": LeafRule(weight=3), "/tag": LeafRule(weight=0)},
    )
    weights = {each.pointer: each.weight for each in contract.leaves}
    assert weights == pytest.approx({"/route/queue": 0.45, "/route/level": 0.15, "/note": 0.4, "/tag": 0})


def test_one_kind_only_takes_all_the_weight_and_a_changed_decision_is_red():
    details = Contract(expected_behavior={"colour": "red", "size": "large"})
    assert [each.weight for each in details.leaves] == [0.5, 0.5]
    several = Contract(expected_behavior={"action": "a", "verdict": "b", "outcome": "c", "tool": "d"})
    before = Observed(
        output_class="object", value={"action": "a", "verdict": "b", "outcome": "c", "tool": "d"}
    )
    after = Observed(output_class="object", value={**before.value, "tool": "e"})
    assert shift(several, before, after).distance == 0.6


# Properties

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-20, 20),
    st.floats(-5, 5, width=16),
    st.sampled_from(
        ["low", "medium", "high", "critical", "proceed", "wait", "", "Do not deploy this on Friday now."]
    ),
)
values = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("ab"), below, max_size=2),
    max_leaves=6,
)
answers = st.dictionaries(
    st.sampled_from(["action", "priority", "include_rollback_plan", "more"]), values, max_size=4
)
observed = st.one_of(
    answers.map(lambda value: Observed(output_class="object", value=value)),
    st.sampled_from([REFUSAL, BROKEN, EMPTY, text("We stop."), text("We go on with it.")]),
)


@settings(max_examples=150)
@given(observed, observed)
def test_a_distance_is_bounded_symmetric_and_nought_for_itself(left, right):
    there, back = shift(CONTRACT, left, right), shift(CONTRACT, right, left)
    assert 0 <= there.distance <= 1
    assert there.distance == pytest.approx(back.distance)
    assert there.is_flip == back.is_flip
    assert shift(CONTRACT, left, left).distance == 0
    assert (there.distance >= 0.6) >= there.is_flip or there.method == "words"
    if there.method == "contract" and not there.is_flip:
        assert there.distance <= 0.4


plain = st.fixed_dictionaries(
    {},
    optional={
        "action": st.sampled_from(["proceed", "wait", "escalate"]),
        "priority": st.sampled_from(["low", "medium", "high", "critical"]),
        "include_rollback_plan": st.booleans(),
    },
).map(lambda value: Observed(output_class="object", value=value))


@settings(max_examples=150)
@given(plain, plain, plain)
def test_the_triangle_holds_for_decisions_scales_and_booleans(a, b, c):
    direct = shift(CONTRACT, a, c).distance
    assert direct <= shift(CONTRACT, a, b).distance + shift(CONTRACT, b, c).distance + 1e-9


@settings(max_examples=80)
@given(st.lists(st.sampled_from("abc"), max_size=9), st.lists(st.sampled_from("abc"), max_size=9))
def test_edit_distance_is_that_of_the_textbook(left, right):
    rows = list(range(len(right) + 1))
    for at, one in enumerate(left, 1):
        following = [at]
        for place, other in enumerate(right, 1):
            following.append(min(rows[place] + 1, following[-1] + 1, rows[place - 1] + (one != other)))
        rows = following
    assert edit_distance([x.encode() for x in left], [x.encode() for x in right]) == rows[-1]


@settings(max_examples=80)
@given(st.integers(1, 6), st.integers(1, 6), st.randoms(use_true_random=False))
def test_assignment_costs_the_least(height, width, chance):
    scipy = pytest.importorskip("scipy.optimize")
    costs = [[chance.random() for _ in range(width)] for _ in range(height)]
    rows, columns = scipy.linear_sum_assignment(costs)
    assert least_cost(costs) == pytest.approx(sum(costs[a][b] for a, b in zip(rows, columns, strict=True)))


def deep(levels):
    value = "x"
    for _ in range(levels):
        value = {"a": value}
    return value


HOSTILE = {
    "a long text": ("word " * 10_000, "other words " * 4_000),
    "sentences of the same words": ("We do deploy it. " * 3_000, "We do not deploy it. " * 2_400),
    "a text without a space": ("x" * 50_000, "y" * 50_000),
    "many objects": ([{"a": i, "b": "x"} for i in range(3_000)], [{"a": -i, "b": "y"} for i in range(3_000)]),
    "as many objects as are assigned": (
        [{f"k{j}": f"{i}{j}" for j in range(60)} for i in range(24)],
        [{f"k{j}": f"{j}{i}" for j in range(60)} for i in range(24)],
    ),
    "many numbers": (list(range(15_000)), list(range(15_000, 0, -1))),
    "nested objects": (deep(60), deep(61)),
    "nested lists of objects": ([[{"a": deep(20)}]] * 500, [[{"a": deep(21)}]] * 500),
    "many keys": ({f"k{i}": i for i in range(5_000)}, {f"k{i}": -i for i in range(5_000)}),
}


@pytest.mark.parametrize("kind", [None, "ordered_list"])
@pytest.mark.parametrize("name", HOSTILE)
def test_no_answer_makes_a_distance_take_long(name, kind):
    contract = Contract(expected_behavior={"x": {"$exists": True}}, fields={"/x": LeafRule(kind=kind)})
    before, after = (Observed(output_class="object", value={"x": v, "y": v}) for v in HOSTILE[name])
    began = time.process_time()
    assert 0 <= shift(contract, before, after).distance <= 1
    assert time.process_time() - began < 0.5
