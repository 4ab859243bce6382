"""Who is gone: one that stayed silent while whoever looks was well all the time. Nobody else."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.engine.batches.worker_beats import BEATS, GoneWorker, SilenceWatch
from pipelines.storage.runs.workers import LEFT


def test_one_that_is_silent_for_as_many_beats_as_it_may_miss_is_gone():
    watch = SilenceWatch("me")
    signs = {"me": "1", "other": "a", "third": "b"}
    assert watch.look(signs, was_well=True) == []
    for beat in range(BEATS - 1):
        assert watch.look(signs | {"third": f"b{beat}"}, was_well=True) == []
    assert watch.look(signs | {"third": "c"}, was_well=True) == [GoneWorker("other", "a")]


def test_one_that_said_that_it_leaves_is_gone_at_once():
    assert SilenceWatch("me").look({"me": "1", "other": LEFT}, was_well=False) == [GoneWorker("other", LEFT)]


def test_whoever_was_not_well_starts_counting_anew():
    watch = SilenceWatch("me")
    signs = {"other": "a"}
    for _ in range(BEATS):
        assert watch.look(signs, was_well=True) == []
    assert watch.look(signs, was_well=False) == []
    for _ in range(BEATS - 1):
        assert watch.look(signs, was_well=True) == []
    assert watch.look(signs, was_well=True) == [GoneWorker("other", "a")]


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans())))
def test_nobody_is_gone_who_was_heard_of_or_while_the_looker_was_not_well(looks):
    watch, sign, since = SilenceWatch("me"), 0, 0
    for number, (is_heard, was_well, own_changes) in enumerate(looks):
        sign += is_heard
        signs = {"me": str(number if own_changes else 0), "other": f"s{sign}"}
        gone = watch.look(signs, was_well=was_well)
        since = since + 1 if was_well and not is_heard and number else 0
        assert [one.worker for one in gone] == (["other"] if since >= BEATS else [])
