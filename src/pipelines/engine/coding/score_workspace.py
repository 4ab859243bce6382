"""Grading a change to a workspace: for runs, for proving a scenario, and for scoring stored changes again.

Each scorer that runs something has a sandbox of its own, made for it: baseline, then the change, then the
tests. What a change does in one of them reaches neither the next nor the agent, which is gone by then.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

from pipelines.core.coding.diff import BadDiff, WorkspaceDiff, parse_diff
from pipelines.core.coding.grading import Grading
from pipelines.core.coding.ran_scorer import (
    JUNIT_FILE,
    ScorerRun,
    changed_runner_sign,
    cut_off_problem,
    left_processes_sign,
    rewritten_tests_sign,
    score_run,
    session_problem,
    touched_tests_sign,
)
from pipelines.core.coding.scenario import CodingScenario
from pipelines.core.coding.scorers import (
    CommandScorer,
    FileEqualsScorer,
    Running,
    Scorer,
    ScorerResult,
    Status,
    TestsScorer,
)
from pipelines.core.coding.scoring import result_of, score_by_diff
from pipelines.core.coding.tamper import RestoredFiles, files_to_restore, signs_in_diff, signs_in_words
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.engine.platform import Platform
from pipelines.engine.workspaces.prepare_workspace import ReadyWorkspace, WorkspaceFailed
from pipelines.sandbox.recipe import Layout
from pipelines.sandbox.workspace_box import (
    WORKSPACE,
    BoxFailed,
    Changes,
    CommandResult,
    WorkspaceBox,
    layout_of,
    open_box,
)
from pipelines.wire.errors import CodeModeUnavailable

MOST_OUTPUT = 64 * 1024  # of each scorer
_GUARD = "/sbx/guard"
_REWARD_BYTES, _JUNIT_BYTES = 64 * 1024, 16 * 1024 * 1024


async def grade(
    platform: Platform,
    *,
    org_id: int,
    scenario: CodingScenario,
    diff: WorkspaceDiff,
    batch_id: int | None = None,
    texts: Sequence[str] = (),
) -> Grading:
    """The scenario's scorers over its baseline with `diff` applied, in fresh sandboxes. `diff` needs a patch
    and nothing else (`core.coding.diff.patch_of`); an empty one is no change. `texts` are what an agent said,
    looked through for names that it cannot know. What cannot be judged is N/A, with the reason."""
    if diff.truncated:
        results = [score_by_diff(scorer, diff, {}) for scorer in scenario.scorers]
        return Grading(results=tuple(one for one in results if one is not None), diff=diff)
    try:
        async with platform.workspaces.held(scenario, org_id) as ready:
            grader = _Grader(platform, ready, scenario, diff, SlotHolder(org_id, batch_id))
            return await grader.grading(texts)
    except (WorkspaceFailed, CodeModeUnavailable) as error:
        return _same_for_all(scenario.scorers, Status.NOT_APPLICABLE, f"There is no workspace: {error}", diff)


def expect_grading(platform: Platform, ready: ReadyWorkspace, scenario: CodingScenario) -> None:
    """A change will be graded in a moment: its sandbox is begun now."""
    ready.opened.pool.expect(_layout(ready, scenario, platform.workspaces.limits.bytes))


def _layout(ready: ReadyWorkspace, scenario: CodingScenario, workspace_bytes: int) -> Layout:
    return layout_of(
        given=ready.folder,
        shared=ready.shared,
        dependencies=ready.dependencies,
        workspace_bytes=workspace_bytes,
        source_dir=ready.empty,
        is_grading=True,
        workdir=scenario.workdir,
    )


def _same_for_all(scorers: Sequence[Scorer], status: Status, reason: str, diff: WorkspaceDiff) -> Grading:
    return Grading(results=tuple(result_of(scorer, status, reason) for scorer in scorers), diff=diff)


class _CannotApply(Exception):
    """Why the change is none."""


class _Grader:
    def __init__(
        self,
        platform: Platform,
        ready: ReadyWorkspace,
        scenario: CodingScenario,
        diff: WorkspaceDiff,
        place: SlotHolder,
    ) -> None:
        self._most_bytes = platform.workspaces.limits.diff_bytes
        self._workspace_bytes = platform.workspaces.limits.bytes
        self._ready = ready
        self._scenario = scenario
        self._readers = platform.plan_readers
        self._given = diff
        self._place = place
        self._diff = diff
        self._contents: dict[str, str | None] = {}
        self._restored: dict[str, None] = {}
        self._signs: list[str] = []
        self._known: tuple[str, ...] = ()  # of the scenario's files, those that were there before

    async def grading(self, texts: Sequence[str]) -> Grading:
        scorers = self._scenario.scorers
        found: dict[str, ScorerResult] = {}
        running = [one for one in scorers if isinstance(one, CommandScorer | TestsScorer)]
        try:
            if not running:
                async with self._box() as box:
                    await self._apply(box)
            for one in running:
                found[one.name] = await self._run(one)
        except _CannotApply as error:
            reason = f"The change cannot be applied to the baseline: {error}"
            return _same_for_all(scorers, Status.FAIL, reason, self._given)
        except BoxFailed as error:  # before anything of the change was run
            return _same_for_all(
                scorers, Status.NOT_APPLICABLE, f"The workspace could not be made: {error}", self._given
            )
        # Thousands of paths against hundreds of globs take seconds: not on the loop.
        looked = partial(self._check_diff, found, texts)
        return await self._readers.run(looked, owner=self._place.org_id)

    def _check_diff(self, found: dict[str, ScorerResult], texts: Sequence[str]) -> Grading:
        """What needs no sandbox: the scorers of the diff itself, and signs of deceit."""
        for scorer in self._scenario.scorers:
            by_diff = score_by_diff(scorer, self._diff, self._contents)
            found |= {scorer.name: by_diff} if by_diff is not None else {}
        signs = signs_in_diff(self._scenario, self._diff, tuple(self._restored), self._known)
        signs += signs_in_words(self._scenario, [self._diff.patch, *texts], self._known)
        return Grading(
            results=tuple(found[scorer.name] for scorer in self._scenario.scorers),
            diff=self._diff,
            restored=tuple(self._restored),
            signs=(*signs, *self._signs),
        )

    def _box(self) -> AbstractAsyncContextManager[WorkspaceBox]:
        layout = _layout(self._ready, self._scenario, self._workspace_bytes)
        return open_box(self._ready.opened.pool, layout, place=self._place)

    async def _apply(self, box: WorkspaceBox) -> RestoredFiles:
        await box.unpack()
        read = [one.path for one in self._scenario.scorers if isinstance(one, FileEqualsScorer)]
        found = await box.apply(self._given.patch_bytes, read=read, most_bytes=self._most_bytes)
        if not isinstance(found, Changes):
            raise _CannotApply(found)
        if found.truncated:
            raise _CannotApply(f"what it comes to is over {self._most_bytes:,} bytes")
        try:
            diff = parse_diff(found.raw, found.patch)
        except BadDiff as error:
            raise _CannotApply(str(error)) from None
        self._diff = replace(
            diff, ignored_files=self._given.ignored_files, ignored_total=self._given.ignored_total
        )
        self._contents = dict(found.contents or {})
        return files_to_restore(self._scenario, self._diff)

    async def _run(self, scorer: Running) -> ScorerResult:
        has_begun = False
        try:
            async with self._box() as box:
                restore = await self._apply(box)
                files = self._scenario.test_files
                back = await box.restore(paths=restore.paths, settings=restore.settings, files=files)
                self._restored |= dict.fromkeys(back.paths)
                self._known = back.known
                has_begun = True
                reward = _reward_path(scorer)
                ran = await self._run_command(box, scorer, reward)
        except BoxFailed as error:
            if not has_begun:
                raise
            status = Status.NOT_APPLICABLE if error.is_ours else Status.FAIL
            return result_of(scorer, status, f"The scorer did not finish: {error}")
        run = ScorerRun(
            code=ran.code,
            timed_out=ran.timed_out,
            output=ran.output,
            left=ran.left,
            sessions=ran.sessions,
            files=ran.files,
            rewritten=ran.rewritten,
            touched=ran.touched,
        )
        looks = (
            session_problem,
            rewritten_tests_sign,
            touched_tests_sign,
            left_processes_sign,
            changed_runner_sign,
        )
        problems = [*(look(run) for look in looks), cut_off_problem(scorer, run)]
        if (problem := next(filter(None, problems), None)) is not None:
            self._signs.append(f"Scorer `{scorer.name}`: {problem}")
        return score_run(scorer, run, reward)

    async def _run_command(self, box: WorkspaceBox, scorer: Running, reward: str | None) -> CommandResult:
        env = self._ready.variables(self._scenario) | {"USER": "grader", "LOGNAME": "grader"}
        env |= {"PIPELINES_WORKSPACE": WORKSPACE}
        read = [reward] if reward is not None else []
        if isinstance(scorer, TestsScorer) and scorer.command is None:
            argv = self._pytest(scorer)
        else:
            env |= _guard_variables(env)
            assert scorer.command is not None
            argv = ["/bin/sh", "-c", scorer.command]
            if isinstance(scorer, TestsScorer):
                env |= {"PIPELINES_JUNIT_FILE": JUNIT_FILE}
                read = [JUNIT_FILE]
            elif reward is not None:
                env |= {"PIPELINES_REWARD_FILE": reward}
        return await box.run(
            argv,
            env=env,
            timeout_s=float(scorer.timeout_s),
            output_bytes=MOST_OUTPUT,
            read=read,
            most_bytes=_JUNIT_BYTES if isinstance(scorer, TestsScorer) else _REWARD_BYTES,
        )

    def _pytest(self, scorer: TestsScorer) -> list[str]:
        """Whole files: pytest runs nothing at all where one name of many is not found."""
        python = self._ready.opened.pool.python.executable
        inside = "/deps/bin/python" if self._ready.dependencies is not None else str(python)
        files = sorted({test.partition("::")[0] for test in scorer.tests})
        options = ["-p", "no:cacheprovider", f"--rootdir={WORKSPACE}", "--tb=short", "-q"]
        return [inside, f"{_GUARD}/run_tests.py", *options, "--", *files]


def _reward_path(scorer: Running) -> str | None:
    if not isinstance(scorer, CommandScorer) or scorer.reward_file is None:
        return None
    return str(Path(WORKSPACE) / scorer.reward_file)  # an absolute one stays as it is


def _guard_variables(env: dict[str, str]) -> dict[str, str]:
    """Wherever the command starts pytest, it tells us what its session came to."""
    path = ":".join([*([env["PYTHONPATH"]] if env.get("PYTHONPATH") else []), _GUARD])
    options = f"-p pytest_guard {env.get('PYTEST_ADDOPTS', '')}".strip()
    return {"PYTHONPATH": path, "PYTEST_ADDOPTS": options}
