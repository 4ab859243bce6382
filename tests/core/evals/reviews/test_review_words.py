"""What a reviewer is told of a verdict before it is given is what comes of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.evals.reviews.review import VERDICTS, ReviewKind, ReviewStatus, Verdict, review_state
from pipelines.core.evals.reviews.review_words import KINDS, LABELS, effects_in_general, vote_effect

VOICES = st.sampled_from(list(Verdict))


@given(VOICES, st.lists(VOICES, max_size=5), st.integers(1, 6))
def test_what_a_voice_does_is_told_as_it_will_be(own: Verdict, others: list[Verdict], wanted: int) -> None:
    said = vote_effect(own, others, wanted, is_blind=False)
    after = review_state([*others, own], wanted)
    match after.status:
        case ReviewStatus.OPEN:
            assert str(wanted - len(others) - 1) in said
        case ReviewStatus.DISPUTED:
            assert "disputed" in said
        case ReviewStatus.DECIDED:
            assert ("against your vote" in said) == (after.verdict is not own)


@given(VOICES, st.lists(VOICES, min_size=1, max_size=5), st.lists(VOICES, min_size=1, max_size=5))
def test_who_decides_blind_learns_nothing_of_the_others(
    own: Verdict, some: list[Verdict], others: list[Verdict]
) -> None:
    assert vote_effect(own, some, 3, is_blind=True) == vote_effect(own, others, 3, is_blind=True)


@pytest.mark.parametrize("kind", list(ReviewKind))
def test_every_verdict_of_a_kind_has_a_word_a_key_and_what_it_does(kind: ReviewKind) -> None:
    effects = effects_in_general(kind)
    assert [effect.verdict for effect in effects] == [*VERDICTS[kind]]
    assert [effect.key for effect in effects] == [*range(1, len(effects) + 1)]
    assert all(effect.says for effect in effects)
    assert kind in KINDS
    assert set(LABELS) == set(Verdict)
