"""Results as files: read back as written, compared case by case, told as a comment that obeys nobody."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.results.compare_results import (
    MARK,
    compare_results,
    escape_cell,
    format_markdown,
    headline,
)
from pipelines.core.results.gate import Tally
from pipelines.core.results.results import (
    Case,
    SuiteResults,
    case_keys,
    is_met,
    outcome_of,
    read_results,
    results_as_json,
)
from pipelines.core.text.problems import Refused

counts = st.integers(0, 5)
tallies = st.builds(Tally, passed=counts, failed=counts, undecided=counts, not_run=counts)


def case(key: str, passed: int, of: int = 5, *, need: int = 4, not_run: int = 0, why: str = "") -> Case:
    runs = Tally(passed=passed, failed=of - passed - not_run, not_run=not_run)
    return Case(
        key=key, name=f"Task {key}", runs=runs, is_met=is_met(runs, need), outcome=outcome_of(runs), why=why
    )


def suite(*cases: Case, name: str = "refunds") -> list[SuiteResults]:
    return [SuiteResults(name=name, agent="desk", exit_code=0, cases=cases)]


@given(st.lists(tallies, max_size=4))
def test_what_is_written_is_read_back(found: list[Tally]):
    cases = [
        Case(key=str(at), name="Ä | b", runs=runs, is_met=is_met(runs, 2), outcome=outcome_of(runs), why="w")
        for at, runs in enumerate(found)
    ]
    assert list(read_results(json.dumps(results_as_json(suite(*cases))))) == suite(*cases)


@given(tallies, st.integers(1, 8))
def test_enough_passes_is_known_exactly_where_the_open_runs_could_not_change_it(runs: Tally, need: int):
    open_runs = runs.undecided + runs.not_run
    ways = {runs.passed + more >= need for more in range(open_runs + 1)}
    assert is_met(runs, need) == (ways.pop() if len(ways) == 1 else (True if runs.passed >= need else None))


OUTCOMES = {
    "stable pass": Tally(passed=3),
    "pass": Tally(passed=1),
    "stable fail": Tally(failed=2, not_run=1),
    "fail": Tally(failed=1),
    "flaky": Tally(passed=1, failed=1, undecided=1),
    "undecided": Tally(passed=2, undecided=1),
    "not run": Tally(not_run=2),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_what_repeats_say_together(outcome: str):
    assert outcome_of(OUTCOMES[outcome]) == outcome


def test_flips_are_told_apart_from_noise_and_from_what_was_not_run():
    before = suite(case("a", 5), case("b", 1), case("c", 5), case("d", 5), case("gone", 5), case("e", 2))
    after = suite(
        case("a", 1, why="It lied."),
        case("b", 5),
        case("c", 4),
        case("d", 0, not_run=5),
        case("new", 0),
        case("e", 3),
    )
    found = compare_results(before, after)
    assert [change.after.key for change in found.regressed] == ["a"]
    assert [change.after.key for change in found.fixed] == ["b"]
    assert [change.after.key for change in found.newly_flaky] == ["c"]
    assert [change.after.key for change in found.unknown] == ["d"]
    assert (found.added, found.removed) == (("refunds: Task new",), ("refunds: Task gone",))
    assert found.compared == 4
    text = format_markdown(found)
    assert text.startswith(MARK)
    assert "| refunds | Task a | stable pass, 5/5 | flaky, 1/5 | It lied. |" in text
    assert found.as_json()["p"] == 1.0


@given(st.lists(st.tuples(counts, counts), max_size=6))
def test_a_round_compared_with_itself_has_no_flip_and_turned_round_the_flips_turn(
    pairs: list[tuple[int, int]],
):
    before = suite(*(case(str(at), first) for at, (first, _) in enumerate(pairs)))
    after = suite(*(case(str(at), second) for at, (_, second) in enumerate(pairs)))
    assert not compare_results(before, before).has_flipped
    there, back = compare_results(before, after), compare_results(after, before)
    assert [c.after.key for c in there.regressed] == [c.after.key for c in back.fixed]
    assert "nothing flipped" in headline(compare_results(before, before))


def test_foreign_words_in_a_comment_are_words():
    told = escape_cell("a | b\n@everyone <img src=x> `code` ![x](http://y) *b*")
    assert "\n" not in told
    assert "|" not in told
    assert "@" not in told
    assert "<" not in told
    assert "`" not in told
    assert "](" not in told.replace("\\]", "")


def test_a_key_stays_when_rows_move_and_equal_rows_are_told_apart():
    first, second = case_keys(["a", "b", "a"]), case_keys(["new", "b", "a", "a"])
    assert len(set(first)) == 3
    assert first[1] == second[1]
    assert {first[0], first[2]} == {second[2], second[3]}


BAD = {
    "no JSON": "{",
    "another file": '{"format": "other"}',
    "a later version": '{"format": "odyssey-results", "version": 2}',
    "wrong parts": '{"format": "odyssey-results", "version": 1, "suites": [{"name": 3, "cases": [1]}]}',
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_none_is_refused(name: str):
    with pytest.raises(Refused):
        read_results(BAD[name])
