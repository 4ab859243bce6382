"""`pipelines run [SUITE…]`: runs the suites of the nearest pipelines.yaml."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from pipelines.cli.agent.dev import accepts_key, ended_by_signals
from pipelines.cli.agent.register import register
from pipelines.cli.client import KEY_FILE, Server
from pipelines.cli.eval import run as eval_run
from pipelines.cli.eval.gate import FailOn
from pipelines.cli.files import Stopped, is_number, or_stop, read_text, stderr, stop, write_text
from pipelines.cli.progress import INTERRUPTED
from pipelines.cli.project import Project, find_project
from pipelines.cli.run import run as task_run
from pipelines.cli.run.hosted import hosted_agent, temporary_server
from pipelines.cli.run.suite_report import (
    FinishedSuite,
    as_junit,
    as_markdown,
    as_results,
    cell_cases,
    task_cases,
)
from pipelines.core.results.gate import ExitCode, worst
from pipelines.core.results.results import SuiteResults
from pipelines.core.task_files.suite_file import EvalSuite, SuiteAgent, SuiteFile, TaskSuite, read_suite_file
from pipelines.core.text.authored import did_you_mean

FILE = "pipelines.yaml"


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteOptions:
    names: tuple[str, ...]  # none are all
    url: str | None  # None: a server that is here, else one of our own
    api_key: str | None
    junit: Path | None
    results: Path | None
    summary: Path | None  # Markdown, added at its end as GITHUB_STEP_SUMMARY wants it
    as_json: bool
    label: str | None = None  # of every batch and matrix
    note: str | None = None


class Cancelled(Exception):
    """Ctrl-C cancelled a suite."""


def nearest_file(start: Path) -> Path | None:
    """The file in this folder or a folder above it, up to the top of the repository."""
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return folder / FILE
        if (folder / ".git").exists():
            return None
    return None


def run_suites(path: Path, options: SuiteOptions) -> None:
    file = or_stop(path, read_suite_file, read_text(path))
    suites = _select_suites(file, options.names, path)
    for target in (options.junit, options.results):
        if target is not None:
            write_text(target, "")  # better now than after an hour of runs
    finished: list[FinishedSuite] = []
    try:
        with ended_by_signals(), ExitStack() as stack:
            round = _SuiteRunner(stack, file, path.parent, options)
            for suite in suites:
                finished.append(round.run_suite(suite))
    except (Cancelled, KeyboardInterrupt):
        _write_reports(finished, options)
        raise typer.Exit(INTERRUPTED) from None
    _write_reports(finished, options)
    code = worst(ExitCode(each.results.exit_code) for each in finished)
    for each in finished:
        stderr.print(f"{each.results.name}: {each.says}", markup=False, soft_wrap=True)
    if code:
        raise typer.Exit(int(code))


def _select_suites(file: SuiteFile, names: tuple[str, ...], path: Path) -> list[TaskSuite | EvalSuite]:
    known = {suite.name: suite for suite in file.suites}
    unknown = [name for name in names if name not in known]
    if unknown:
        hint = did_you_mean(unknown[0], known) or f"there are {', '.join(known)}"
        stop(f"{path}: there is no suite {unknown[0]!r} ({hint}).")
    return [known[name] for name in names] if names else list(file.suites)


def _write_reports(finished: list[FinishedSuite], options: SuiteOptions) -> None:
    if options.junit is not None:
        write_text(options.junit, as_junit(finished))
    if options.results is not None:
        write_text(options.results, as_results(finished))
    if options.as_json:
        typer.echo(as_results(finished), nl=False)
    if options.summary is not None:
        try:
            with options.summary.open("a", encoding="utf-8") as file:
                file.write(as_markdown(finished))
        except OSError as error:
            stop(f"{options.summary}: {error.strerror or error}")


class _SuiteRunner:
    """One server for all suites, and each agent once. An agent that cannot start fails only its suites."""

    def __init__(self, stack: ExitStack, file: SuiteFile, folder: Path, options: SuiteOptions) -> None:
        self._stack = stack
        self._folder = folder
        self._options = options
        self._server = self._open_server(file)
        self._agents: dict[str, str] = {}  # ids, by their labels

    def run_suite(self, suite: TaskSuite | EvalSuite) -> FinishedSuite:
        try:
            agent_id = self._agent_id(suite.agent)
            return (
                self._run_eval_suite(suite, agent_id)
                if isinstance(suite, EvalSuite)
                else self._run_task_suite(suite, agent_id)
            )
        except Stopped as stopped:
            if stopped.exit_code != ExitCode.COULD_NOT_RUN:
                raise  # wrong usage: nothing of this round can be trusted
            results = SuiteResults(name=suite.name, agent=suite.agent.label, exit_code=3, cases=())
            return FinishedSuite(results=results, says=f"could not be run: {stopped.message}")

    def _open_server(self, file: SuiteFile) -> Server:
        url = self._options.url or file.server_url
        if url is not None:
            return self._stack.enter_context(Server(url, self._options.api_key))
        from pipelines.cli.options import DEFAULT_URL

        key = self._options.api_key or (KEY_FILE.read_text().strip() if KEY_FILE.is_file() else None)
        if key is not None and accepts_key(DEFAULT_URL, key):
            stderr.print(f"Server: {DEFAULT_URL}")
            return self._stack.enter_context(Server(DEFAULT_URL, key))
        server = self._stack.enter_context(temporary_server())
        stderr.print("Server: temporary, for these suites only")
        return server

    def _agent_id(self, agent: SuiteAgent) -> str:
        if agent.known_as is not None:
            return agent.known_as
        if agent.label not in self._agents:
            assert agent.folder is not None
            project = find_project(self._folder / agent.folder)
            self._agents[agent.label] = str(self._register(agent, project)["id"])
        return self._agents[agent.label]

    def _register(self, agent: SuiteAgent, project: Project) -> Any:
        if agent.url is not None:
            token = os.environ.get(agent.token_env) or None
            return register(self._server, project, token=token, endpoint_url=agent.url)
        reached = self._stack.enter_context(
            hosted_agent(project, command=agent.serve, token_variable=agent.token_env)
        )
        return register(self._server, project, token=reached.token, endpoint_url=reached.endpoint_url)

    def _run_task_suite(self, suite: TaskSuite, agent_id: str) -> FinishedSuite:
        ran = [self._run_batch(suite, dataset, agent_id) for dataset in suite.datasets]
        if any(each.was_cancelled for each in ran):
            raise Cancelled
        tasks = {task["id"]: task for each in ran for task in self._tasks_of(each.runs)}
        return task_cases(suite, ran, tasks)

    def _run_batch(self, suite: TaskSuite, dataset: str, agent_id: str) -> task_run.BatchResult:
        options = task_run.RunOptions(
            agent=agent_id,
            dataset=dataset if is_number(dataset) else str(self._folder / dataset),
            repeats=suite.repeats,
            concurrency=suite.concurrency,
            fault_seed=suite.fault_seed,
            resume=None,
            fail_under=suite.fail_under,
            junit=None,
            as_json=False,
            tags=suite.tags,
            passthrough=suite.passthrough.mode if suite.passthrough.cassette is not None else None,
            cassette=suite.passthrough.cassette,
            honesty=suite.honesty,
            label=self._options.label,
            note=self._options.note,
        )
        with self._print_under(suite.name):
            return task_run.run_once(self._server, options)

    def _tasks_of(self, runs: list[Any]) -> Iterator[Any]:
        """The tasks of some runs, in the order of their file."""
        ids = {run["task_id"] for run in runs}
        first = self._server.get(f"/api/tasks/{min(ids)}")
        for task in self._server.every(f"/api/datasets/{first['dataset_id']}/tasks"):
            if task["id"] in ids:
                yield task

    def _run_eval_suite(self, suite: EvalSuite, agent_id: str) -> FinishedSuite:
        options = eval_run.MatrixOptions(
            scenarios=tuple(
                each if each.startswith("scn_") else str(self._folder / each) for each in suite.scenarios
            ),
            agent=agent_id,
            variations=suite.variations or None,
            repeats=suite.repeats,
            baseline_repeats=suite.baseline_repeats,
            intensity=suite.intensity,
            delivery=None,
            parallel=None,
            rng_seed=None,
            resume=None,
            fail_on=FailOn(suite.fail_on),
            files=eval_run.OutputFiles(),
            as_json=False,
            label=self._options.label,
            note=self._options.note,
        )
        with self._print_under(suite.name):
            ran = eval_run.run_once(self._server, options)
        if ran.was_cancelled:
            raise Cancelled
        return cell_cases(suite, ran)

    @contextmanager
    def _print_under(self, name: str) -> Iterator[None]:
        """Print under the suite's name; with --json, print to stderr."""
        if self._options.as_json:
            with redirect_stdout(sys.stderr):
                yield
        else:
            stderr.rule(name)
            yield
