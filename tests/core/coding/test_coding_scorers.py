"""What scorers say of a change, alone and together; globs, JUnit, and diffs as git tells them."""

import pytest

from pipelines.core.coding.diff import BadDiff, ChangedFile, WorkspaceDiff, parse_diff
from pipelines.core.coding.junit import BadReport, TestCase, read_junit, score_tests
from pipelines.core.coding.paths import matches
from pipelines.core.coding.ran_scorer import (
    JUNIT_FILE,
    ScorerRun,
    changed_runner_sign,
    cut_off_problem,
    deceived_sign,
    passed_tests,
    score_run,
    silent_session_sign,
    touched_tests_sign,
)
from pipelines.core.coding.scenario import CodingScenario
from pipelines.core.coding.scorers import (
    CommandScorer,
    DiffContainsScorer,
    FileEqualsScorer,
    MaxDiffLinesScorer,
    PathsScorer,
    Scorer,
    ScorerResult,
    Status,
    TestsScorer,
)
from pipelines.core.coding.scoring import changed_lines, combine_results, score_by_diff
from pipelines.core.coding.tamper import files_to_restore, signs_in_diff, signs_in_words

PATCH = """diff --git a/src/sum.py b/src/sum.py
index 1..2 100644
--- a/src/sum.py
+++ b/src/sum.py
@@ -1,3 +1,3 @@
 def total(xs):
--- a/fake.py
+    return sum(xs)
 # end
diff --git "a/caf\\303\\251.txt" "b/caf\\303\\251.txt"
--- "a/caf\\303\\251.txt"
+++ "b/caf\\303\\251.txt"
@@ -1 +1,2 @@
 x
+++ b/src/other.py
"""
DIFF = WorkspaceDiff(
    patch=PATCH,
    files=(
        ChangedFile(path="src/sum.py", change="modified", added=1, removed=1),
        ChangedFile(path="café.txt", change="renamed", old_path="old.txt", added=1),
    ),
)


@pytest.mark.parametrize(
    ("path", "glob", "is_meant"),
    [
        ("src/a.py", "src/**", True),
        ("src", "src/**", False),
        ("src/a/b.py", "src/*", True),  # the folder src/a is named
        ("src/a.py", "src/*.py", True),
        ("src/a/b.py", "src/*.py", False),
        ("a/b/c.md", "**/*.md", True),
        ("c.md", "**/*.md", True),
        ("a/c.md", "*.md", False),
        ("tests/a/b", "tests", True),
        ("tests", "tests/", False),
        ("tests/x", "tests/", True),
        ("anything/at/all", "**", True),
        ("src/x/tests/y", "src/**/tests/*", True),
        ("src/tests/y", "src/**/tests/*", True),
        ("srcs/y", "src", False),
        ("a.b", "a?b", True),
        ("a[b", "a[b", True),
        ("A.py", "a.py", False),
    ],
)
def test_a_glob_means(path: str, glob: str, is_meant: bool) -> None:
    assert matches(path, [glob]) is is_meant


def test_a_glob_of_many_stars_is_read_in_no_time() -> None:
    assert not matches("a" * 255, ["*a" * 100 + "b"])


def said(scorer: Scorer, diff: WorkspaceDiff = DIFF, **contents: str | None) -> ScorerResult:
    found = score_by_diff(scorer, diff, contents)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("paths", "status"),
    [(["src/**", "*.txt"], "PASS"), (["src/**", "café.txt"], "FAIL"), (["src/**"], "FAIL")],
)
def test_only_allowed_paths_may_change_and_a_rename_is_both_of_its_names(paths, status) -> None:
    result = said(PathsScorer(name="p", type="allowed_paths", paths=tuple(paths)))
    assert result.status == status
    assert (status == "PASS") == ("old.txt" not in result.reason)


def test_forbidden_paths_may_not_change() -> None:
    assert said(PathsScorer(name="p", type="forbid_paths", paths=("old.*",))).status == "FAIL"
    assert said(PathsScorer(name="p", type="forbid_paths", paths=("docs/**",))).passed


def test_lines_are_told_from_heads_that_look_like_them() -> None:
    assert changed_lines(PATCH, "+") == ["    return sum(xs)", "++ b/src/other.py"]
    assert changed_lines(PATCH, "-") == ["-- a/fake.py"]
    assert changed_lines(PATCH, "+", ["café.txt"]) == ["++ b/src/other.py"]
    assert changed_lines(PATCH, "+", ["src/other.py"]) == []


def test_a_diff_contains() -> None:
    assert said(DiffContainsScorer(name="d", type="diff_contains", text="sum(xs)")).passed
    assert not said(
        DiffContainsScorer(name="d", type="diff_contains", text="def total")
    ).passed  # not changed
    removed = DiffContainsScorer(name="d", type="diff_contains", text="fake", lines="removed")
    assert said(removed).passed


def test_a_file_equals_to_the_last_character() -> None:
    scorer = FileEqualsScorer(name="f", type="file_equals", path="V", text="2\n")
    assert said(scorer, V="2\n").passed
    assert "line 1" in said(scorer, V="3\n").reason
    assert said(scorer, V="2").status == "FAIL"
    assert said(scorer, V=None).status == "FAIL"
    assert said(scorer).status == "N/A"


def test_lines_are_counted_and_binary_files_have_none_to_count() -> None:
    assert said(MaxDiffLinesScorer(name="m", type="max_diff_lines", max=3)).passed
    assert not said(MaxDiffLinesScorer(name="m", type="max_diff_lines", max=2)).passed
    binary = WorkspaceDiff(files=(ChangedFile(path="x", change="added", binary=True),))
    assert not said(MaxDiffLinesScorer(name="m", type="max_diff_lines", max=9), binary).passed


def test_a_diff_that_was_cut_fails_every_scorer() -> None:
    cut = WorkspaceDiff(truncated=True)
    assert said(CommandScorer(name="c", type="command", command="true"), cut).status == "FAIL"


# Together


def result(status: str, *, required: bool = True, weight: float = 1.0, score: float | None = None):
    return ScorerResult(
        name=f"{status}{required}{weight}",
        type="command",
        required=required,
        weight=weight,
        status=Status(status),
        score=float(status == "PASS") if score is None else score,
        reason="because",
    )


def test_required_ones_gate_and_weights_give_the_score() -> None:
    both = combine_results([result("PASS", weight=3), result("FAIL", required=False)])
    assert (both.passed, both.score) == (True, 0.75)
    assert combine_results([result("FAIL"), result("PASS", weight=9)]).passed is False


def test_what_could_not_be_judged_is_no_pass_and_counts_as_nothing() -> None:
    combined = combine_results([result("N/A", score=1.0), result("PASS")])
    assert (combined.passed, combined.score) == (None, 0.5)
    assert combine_results([result("N/A"), result("FAIL")]).passed is False
    assert combine_results([]).passed is None


def test_without_a_required_one_all_of_them_decide() -> None:
    assert combine_results([result("FAIL", required=False), result("PASS", required=False)]).passed is False


# Reports


JUNIT = b"""<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one"/>
<testcase classname="tests.test_a.TestX" name="test_two[1-a]"><failure message="no"/></testcase>
<testcase classname="tests.test_a" name="test_three"><skipped/></testcase>
<testcase classname="pkg.Suite" name="works"/>
</testsuite></testsuites>"""


def scorer_of_tests(*names: str, **more: object) -> TestsScorer:
    return TestsScorer(name="t", type="tests", fail_to_pass=names, **more)  # type: ignore[arg-type]


def test_junit_is_read_by_the_names_that_people_write() -> None:
    cases = read_junit(JUNIT)
    passed = score_tests(scorer_of_tests("tests/test_a.py::test_one", "pkg.Suite.works"), cases)
    assert passed.passed
    mixed = score_tests(
        scorer_of_tests(
            *("tests/test_a.py::test_one", "tests/test_a.py::TestX::test_two[1-a]"),
            *("tests/test_a.py::test_three", "tests/test_a.py::test_four"),
        ),
        cases,
    )
    assert (mixed.status, mixed.score) == ("FAIL", 0.25)
    assert "test_four" in mixed.reason


@pytest.mark.parametrize("failing", ["a.py::new", "a.py::old"])
def test_what_must_be_mended_and_what_must_not_break_both_count(failing: str) -> None:
    scorer = TestsScorer(name="t", type="tests", fail_to_pass=("a.py::new",), pass_to_pass=("a.py::old",))
    outcomes = dict.fromkeys(scorer.tests, "passed")
    assert score_tests(scorer, cases(outcomes)).passed
    told = score_tests(scorer, cases(outcomes | {failing: "failed"}))
    assert (told.status, told.score) == ("FAIL", 0.5)
    assert failing in told.reason


def cases(outcomes: dict[str, str]) -> dict[str, TestCase]:
    return {name: TestCase(outcome=outcome) for name, outcome in outcomes.items()}


def test_a_test_that_is_there_twice_counts_as_the_worse() -> None:
    twice = b"<s><testcase name='a'/><testcase name='a'><error/></testcase><testcase name='a'/></s>"
    assert read_junit(twice)["a"].outcome == "error"


@pytest.mark.parametrize("data", [b"", b"<a", b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"])
def test_a_report_that_cannot_be_read_is_none(data: bytes) -> None:
    with pytest.raises(BadReport):
        read_junit(data)


def test_a_whole_file_stands_for_all_its_tests() -> None:
    cases = read_junit(b"<s><testcase classname='a.py' name='x'/><testcase classname='a.py' name='y'/></s>")
    assert score_tests(scorer_of_tests("a.py"), cases).passed
    assert score_tests(scorer_of_tests("b.py"), cases).status == "FAIL"


# What was run


def ran(**changes: object) -> ScorerRun:
    whole = {"code": 0, "timed_out": False, "output": "", "left": (), "sessions": (), "files": {}} | changes
    return ScorerRun(**whole)  # type: ignore[arg-type]


SESSION = {"begun": True, "ended": 0, "left": True, "must_fail": "failed", "outcomes": {"a.py::b": "passed"}}
MAKE = CommandScorer(name="c", type="command", command="make test")
PYTEST = CommandScorer(name="c", type="command", command="python -m pytest -q")
REWARD = CommandScorer(name="c", type="command", command="x", reward_file="/logs/r", pass_at=0.5)


NAMES = ["tests/test_a.py::test_x", "/tests/test_b.py::TestB::test_y"]


@pytest.mark.parametrize(
    ("told", "passed"),
    [
        ({"tests/test_a.py::test_x": "passed"}, NAMES[:1]),
        ({"tests/test_a.py::test_x[1-2]": "passed"}, NAMES[:1]),
        ({"tests/test_a.py::test_x": "failed"}, []),
        ({"other/tests/test_a.py::test_x": "passed"}, []),
        ({"../tests/test_b.py::TestB::test_y": "passed"}, NAMES[1:]),
        ({"tests/test_b.py::TestB::test_y": "passed"}, NAMES[1:]),
    ],
)
def test_tests_are_found_by_the_path_that_pytest_names(told: dict[str, str], passed: list[str]) -> None:
    assert passed_tests(ran(sessions=[{"outcomes": told}]), NAMES) == passed


def test_tests_are_found_in_the_report_of_a_command() -> None:
    report = b"<s><testcase classname='tests.test_a' name='test_x'/></s>"
    assert passed_tests(ran(files={JUNIT_FILE: report}), NAMES) == NAMES[:1]


def test_a_test_that_must_fail_and_passes_is_a_sign() -> None:
    first = ran(sessions=[SESSION])
    tests, names = scorer_of_tests("a.py::b"), ["a.py::b"]
    honest = ran(code=1, sessions=[SESSION | {"ended": 1, "outcomes": {"a.py::b": "failed"}}])
    assert deceived_sign(tests, first, honest, names, None) is None
    assert deceived_sign(PYTEST, first, honest, names, None) is None
    assert "a.py::b" in (deceived_sign(tests, first, first, names, None) or "")
    silent = ran(sessions=[SESSION | {"outcomes": {}}])  # it says only that all is well
    assert "a.py::b" in (deceived_sign(PYTEST, first, silent, names, None) or "")
    assert deceived_sign(PYTEST, silent, silent, names, None) is None  # other tests than these were run


def test_a_session_of_ours_that_prints_nothing_is_a_sign() -> None:
    tests = scorer_of_tests("a.py::b")
    assert silent_session_sign(tests, ran(sessions=[SESSION])) is not None
    assert silent_session_sign(tests, ran(sessions=[SESSION], output="1 passed in 0.01s")) is None
    assert silent_session_sign(PYTEST, ran(sessions=[SESSION])) is None  # it may send its output elsewhere


@pytest.mark.parametrize(
    ("told", "is_passed"),
    [
        (SESSION, True),
        ({"begun": True}, False),
        (SESSION | {"left": False}, False),
        (SESSION | {"must_fail": "passed"}, False),
        (SESSION | {"ended": 1}, False),
    ],
    ids=["whole", "cut off", "cut off at its end", "nothing can fail", "failed, and the process says not"],
)
def test_a_test_session_is_believed_only_if_it_came_to_its_own_end(told, is_passed: bool) -> None:
    assert score_run(PYTEST, ran(sessions=[told])).passed is is_passed
    own = score_run(scorer_of_tests("a.py::b"), ran(sessions=[told]))
    assert own.passed is is_passed


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (SESSION | {"changed": ["Session.testsfailed"]}, "changed while it ran: Session.testsfailed"),
        (SESSION | {"ended": 1}, "does not name any"),
        (SESSION | {"changed": []}, None),
        (SESSION | {"ended": 1, "outcomes": {"a.py::b": "failed"}}, None),
        (SESSION | {"ended": 5, "outcomes": {}}, None),
        (SESSION | {"changed": "no list", "outcomes": 7}, None),
    ],
)
def test_a_runner_that_was_changed_or_contradicts_itself_is_a_sign(told, says: str | None) -> None:
    sign = changed_runner_sign(ran(sessions=[told]))
    assert sign is None if says is None else says in str(sign)


def test_a_command_passes_by_its_exit_code() -> None:
    assert score_run(MAKE, ran()).passed
    assert score_run(MAKE, ran(code=2)).reason == "The command exited with code 2."
    assert "30" not in score_run(MAKE, ran(code=None, timed_out=True)).reason
    assert not score_run(MAKE, ran(code=None, timed_out=True)).passed


def test_a_command_that_names_pytest_must_have_run_it() -> None:
    assert "no pytest session was seen" in score_run(PYTEST, ran()).reason


@pytest.mark.parametrize(
    ("data", "status", "score"),
    [
        (b"1\n", "PASS", 1.0),
        (b"0.5", "PASS", 0.5),
        (b"0.4", "FAIL", 0.4),
        (b'{"reward": 1.0}', "PASS", 1.0),
        (b"2", "FAIL", 0.0),
        (b"true", "FAIL", 0.0),
        (b"nan", "FAIL", 0.0),
        (b"", "FAIL", 0.0),
        (None, "FAIL", 0.0),
    ],
)
def test_a_reward_is_a_number_from_0_to_1(data, status: str, score: float) -> None:
    found = score_run(REWARD, ran(code=1, files={"/logs/r": data}), "/logs/r")
    assert (found.status, found.score) == (status, score)


@pytest.mark.parametrize("code", [-9, 137, 143])
def test_a_reward_beside_a_command_that_was_killed_is_not_believed(code: int) -> None:
    scorer = CommandScorer(name="r", type="command", command="x", reward_file="/logs/r")
    told = score_run(scorer, ran(code=code, files={"/logs/r": b"1"}), "/logs/r")
    assert (told.status, told.score) == ("FAIL", 0.0)
    assert "killed" in told.reason
    assert cut_off_problem(scorer, ran(code=1)) is None  # a script may end with the tests' own code


def test_tests_that_were_rewritten_while_they_ran_are_not_believed() -> None:
    scorer = CommandScorer(name="c", type="command", command="x")
    told = score_run(scorer, ran(rewritten=["/tests/test.sh"]))
    assert told.status == "FAIL"
    assert "/tests/test.sh" in told.reason
    made_a_program = ran(touched=["/tests/run.sh"])
    assert score_run(scorer, made_a_program).passed
    assert "/tests/run.sh" in str(touched_tests_sign(made_a_program))


def test_a_reward_that_a_process_left_behind_could_have_written_is_not_believed() -> None:
    found = score_run(REWARD, ran(files={"/logs/r": b"1"}, left=["sleep"]), "/logs/r")
    assert "not trusted" in found.reason


def test_tests_of_another_runner_are_read_from_its_report() -> None:
    scorer = scorer_of_tests("tests/test_a.py::test_one", command="run-them")
    assert score_run(scorer, ran(files={JUNIT_FILE: JUNIT})).passed
    assert not score_run(scorer, ran(files={JUNIT_FILE: None})).passed


# Diffs


RAW = (
    b":100644 100755 1111 2222 M\0run.sh\0:100644 100644 1 2 R090\0old \xff\0new\0"
    b":000000 120000 0 3 A\0link\0"
    b":100644 000000 1 0 D\0gone\x00"
    b"0\t0\trun.sh\x003\t1\t\0old \xff\0new\x001\t0\tlink\x000\t7\tgone\0"
)


def test_changes_are_read_from_git_s_own_list() -> None:
    diff = parse_diff(RAW, b"\xff", b"build/\0")
    told = {file.path: file for file in diff.files}
    assert (told["run.sh"].change, told["run.sh"].new_mode) == ("modified", "100755")
    assert (told["new"].old_path, told["new"].added, told["new"].removed) == ("old \udcff", 3, 1)
    assert told["link"].new_mode == "120000"
    assert (told["gone"].change, told["gone"].removed) == ("deleted", 7)
    assert diff.patch_bytes == b"\xff"
    assert diff.ignored_files == ("build/",)
    assert "\ufffd" in str(diff.as_json()["patch"])
    assert WorkspaceDiff.from_stored(b"\xff", diff.summary()).lines == diff.lines


@pytest.mark.parametrize("raw", [b":1 2 3\0x\0", b"a\tb\tc\0", b":100644 100644 1 2 M\0"])
def test_what_is_no_list_of_git_s_is_refused(raw: bytes) -> None:
    with pytest.raises(BadDiff):
        parse_diff(raw, b"")


# Signs


def changed(*files: ChangedFile) -> WorkspaceDiff:
    return WorkspaceDiff(files=files)


SCENARIO = CodingScenario(
    name="s",
    user_instruction="Mend it.",
    scorers=(
        TestsScorer(name="t", type="tests", fail_to_pass=("checks/named.py::test",)),
        CommandScorer(name="r", type="command", command="x", reward_file="reward.txt"),
    ),
    test_files={"tests/test_hidden.py": ""},
)


def test_files_that_decide_how_a_change_is_graded_are_put_back() -> None:
    def file(path: str, change: str = "added") -> ChangedFile:
        return ChangedFile(path=path, change=change)

    diff = changed(
        *(file("a/conftest.py"), file("x.pth"), file("sitecustomize.py"), file("pytest.py")),
        *(file("checks/named.py"), file("tests/test_old.py", "modified"), file("__pycache__/a.pyc")),
        *(file("tests/test_mine.py"), file("src/a.py", "modified"), file("pyproject.toml", "modified")),
        *(file("tests/test_hidden.py"), file("src/pytest.py"), file("_pytest/python.py", "modified")),
        *(file("pytest.toml"), file("x-1.0.dist-info/entry_points.txt"), file("src/x.egg-info/PKG-INFO")),
        *(file("tests/__init__.py"), file("__init__.py"), file("src/__init__.py")),
        *(file("tests/own/__init__.py"), file("tests/own/test_own.py")),
    )
    restored = files_to_restore(SCENARIO, diff)
    assert set(restored.paths) == {
        *("a/conftest.py", "x.pth", "sitecustomize.py", "pytest.py", "checks/named.py"),
        *("tests/test_old.py", "__pycache__/a.pyc", "reward.txt"),
        *("pytest.toml", "x-1.0.dist-info/entry_points.txt", "src/x.egg-info/PKG-INFO"),
        *("tests/__init__.py", "__init__.py"),  # run before the tests; not those of an agent's own
    }
    assert restored.settings == ("pyproject.toml",)


def test_signs_are_told_and_bytecode_is_none() -> None:
    link = ChangedFile(path="a/l", change="added", new_mode="120000")
    patch = (
        "diff --git a/a/l b/a/l\nnew file mode 120000\n--- /dev/null\n+++ b/a/l\n@@ -0,0 +1 @@\n+../../etc\n"
    )
    diff = WorkspaceDiff(patch=patch, files=(link, ChangedFile(path="tests/test_hidden.py", change="added")))
    signs = " ".join(signs_in_diff(SCENARIO, diff, ["conftest.py"], already=()))
    assert "exist only during grading" in signs
    assert "conftest.py" in signs
    assert "point outside of the workspace: `a/l`" in signs
    assert signs_in_diff(SCENARIO, changed(), ["a.pyc"], already=()) == []


def test_names_that_only_graders_know_are_a_sign_in_an_agent_s_words() -> None:
    assert signs_in_words(SCENARIO, ["open('tests/test_hidden.py')"], already=())
    assert signs_in_words(SCENARIO, ["I ran the tests."], already=()) == []
    assert signs_in_words(SCENARIO, ["tests/test_hidden.py"], already=("tests/test_hidden.py",)) == []
