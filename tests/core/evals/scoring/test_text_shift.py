"""Free text: other words are amber at most, contradicted sentences and texts that share nothing are red."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.scoring.shift import shift
from pipelines.core.evals.scoring.text_shift import text_distance, text_profile
from support.scored_outputs import CONTRACT, text

RED, AMBER = 0.5, 0.2


def apart(left, right):
    return text_distance(text_profile(left), text_profile(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Deploy the release to production.", "Do not deploy the release to production."),
        ("We should approve the refund.", "We should reject the refund."),
        ("The refund is 40 dollars.", "The refund is 400 dollars."),
        ("Wait for three days before the restart.", "Wait for five days before the restart."),
        ("Approve.", "Reject."),
        ("The owner can't restart the database.", "The owner can restart the database."),
    ],
)
def test_a_contradicted_sentence_is_red(left, right):
    assert apart(left, right).total >= RED
    assert shift(CONTRACT, text(left), text(right)).is_flip


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Escalate the incident to the owner.", "The incident should be escalated to its owner."),
        ("Do not approve the refund.", "Reject the refund."),
        ("The database failed; tell the owner.", "The weather of the database owner is pleasant."),
    ],
)
def test_other_words_alone_are_never_red(left, right):
    found = apart(left, right)
    assert found.contradiction == 0
    assert found.total <= 0.45
    assert not shift(CONTRACT, text(left), text(right)).is_flip


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The database failed; tell the owner.", "The weather in spring is pleasant."),
        ("Escalate.", "Bananas and oranges ripen in the sun."),
        ("数据库失败", "天气很好"),
    ],
)
def test_texts_that_share_nothing_are_completely_different(left, right):
    assert apart(left, right).total == 1.0
    assert shift(CONTRACT, text(left), text(right)).distance == 1.0
    assert shift(CONTRACT, text(left), text(right)).is_flip


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("请将事件升级给负责人处理。", "请把该事件升级给负责人。"),
        ("障害を責任者に報告してください。", "障害は責任者へ報告します。"),
    ],
)
def test_a_paraphrase_in_a_script_without_spaces_is_not_completely_different(left, right):
    assert apart(left, right).total < AMBER


def test_the_share_is_the_larger_of_both_ways():
    baseline = "The disk is full. We restart the server."
    longer = "The disk is full. We do not restart the server. The weather is fine."
    assert apart(baseline, longer).contradiction == apart(longer, baseline).contradiction == 0.5


def test_of_two_counterparts_the_one_that_agrees_is_meant():
    both = "The disk is full. The disk is not full."
    assert apart("The disk is full.", both).contradiction == 0.5


def test_content_is_one_less_the_f1_of_stems():
    # two of three stems each: F1 = 2/3
    assert apart("shipped orders today", "shipping order yesterday").content == pytest.approx(1 / 3)


words = st.lists(
    st.sampled_from(["we", "not", "deploy", "stop", "5", "ten", "disk", "full.", "\n"]), max_size=12
)


@settings(max_examples=80)
@given(words.map(" ".join), words.map(" ".join))
def test_bounds_symmetry_and_identity(left, right):
    assert 0 <= apart(left, right).total <= 1
    assert apart(left, right).total == pytest.approx(apart(right, left).total)
    assert apart(left, left).total == 0
