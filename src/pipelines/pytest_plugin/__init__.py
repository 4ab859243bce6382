"""`@pytest.mark.odyssey(dataset=…, repeats=5, min_pass=4)`: one test for each task of a dataset.

Every pytest loads this module where the package is installed, so it imports pytest only. The other modules
are imported when a marked test is collected.
"""

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pipelines.pytest_plugin.tasks import OdysseyTask

MARK = "odyssey"
TASK = "odyssey_task"
PENDING_OUTCOMES = ("fail", "skip")
HELP = (
    "odyssey(dataset, agent=None, tools=None, repeats=1, min_pass=None, tags=None, pending=None, "
    "fault_seed=0, serve=False, url=None): run the test once for each task of a dataset; the test is the "
    "agent and returns its final response, or a served agent is run (docs/howto/unit-tests.md)"
)


class CouldNotRun(Exception):
    """The test could not be run: an error, neither a pass nor a failure."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("odyssey", "agents under test")
    group.addoption(
        "--odyssey-report", metavar="FILE", type=Path, help="Write what each task came to, as JSON."
    )
    group.addoption(
        "--odyssey-repeats", metavar="N", type=int, help="Repeats of each task, whatever marks say."
    )
    parser.addini(
        "odyssey_pending",
        "What a task is whose verdict could not be decided: fail (the default) or skip. Never a pass.",
        default="fail",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", HELP)
    if config.getini("odyssey_pending") not in PENDING_OUTCOMES:
        raise pytest.UsageError(f"odyssey_pending is {' or '.join(PENDING_OUTCOMES)}")
    report: Path | None = config.getoption("--odyssey-report")
    if report is not None and not report.absolute().parent.is_dir():
        raise pytest.UsageError(f"--odyssey-report {report}: there is no such directory")
    repeats = config.getoption("--odyssey-repeats")
    if repeats is not None and not 1 <= repeats <= 100:
        raise pytest.UsageError("--odyssey-repeats is from 1 to 100")
    if not hasattr(config, "workerinput"):  # under xdist the workers run, and this process tells
        config.pluginmanager.register(_SessionReport(report), "odyssey-told")


class _SessionReport:
    """Collects the outcome of every marked test, also from xdist workers; printed and written at the end."""

    def __init__(self, report: Path | None) -> None:
        self._report = report
        self._records: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        record = getattr(report, "odyssey", None)
        if record is not None:
            self._records.append({"test": report.nodeid, **record})

    def pytest_sessionfinish(self) -> None:
        if self._report is not None:
            from pipelines.pytest_plugin.summary import as_report

            self._report.write_text(as_report(self._records), encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._records:
            from pipelines.pytest_plugin.summary import print_summary

            print_summary(terminalreporter, self._records)
            if self._report is not None:
                terminalreporter.write_line(f"Written to {self._report}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.get_closest_marker(MARK) is None:
        return
    from pipelines.pytest_plugin.tasks import tasks_of

    tasks = tasks_of(metafunc.definition)
    if TASK not in metafunc.fixturenames:
        metafunc.fixturenames.append(TASK)
    metafunc.parametrize(TASK, tasks, ids=[task.name for task in tasks], indirect=True)


def _task_of(item: pytest.Item) -> "OdysseyTask | None":
    callspec = getattr(item, "callspec", None)
    return callspec.params.get(TASK) if callspec is not None else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker(MARK) is not None and _task_of(item) is None:
        pytest.fail(
            "a test marked `odyssey` is a plain function or method: unittest has no parameters", False
        )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    task = _task_of(pyfuncitem)
    if task is None:
        return None
    from pipelines.pytest_plugin.item import run_item

    run_item(pyfuncitem, task)
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, None]:
    outcome = yield
    if _task_of(item) is None or call.when != "call":
        return
    report = outcome.get_result()
    report.odyssey = item.__dict__.get("odyssey_record")
    if call.excinfo is not None and call.excinfo.errisinstance(CouldNotRun):
        # What pytest counts and JUnit shows as an error is what fails outside of a call.
        report.when = "setup"
        report.longrepr = str(call.excinfo.value)


def pytest_unconfigure(config: pytest.Config) -> None:
    close = config.__dict__.pop("odyssey_close", None)
    if close is not None:
        close()


@pytest.fixture
def odyssey_task(request: pytest.FixtureRequest) -> Any:
    """The task of this test: `number`, `instruction`, `tags`, `seed`."""
    if not hasattr(request, "param"):
        pytest.fail("odyssey_task is for tests marked `odyssey`", False)
    return request.param


class _PerRepeatValue:
    """A placeholder: each repeat has its own run, so a fixture cannot hold it."""

    def __init__(self, name: str) -> None:
        self.__name = name

    def __getattr__(self, attribute: str) -> Any:
        raise AttributeError(f"{self.__name} is made anew for each repeat: take it in the test itself")


@pytest.fixture
def odyssey_run(odyssey_task: Any) -> Any:
    """The run of this repeat (`pipelines.odyssey.testing.InProcessRun`); its envelope is bound."""
    return _PerRepeatValue("odyssey_run")


@pytest.fixture
def odyssey_envelope(odyssey_task: Any) -> Any:
    """The envelope that the agent gets in this repeat."""
    return _PerRepeatValue("odyssey_envelope")


@pytest.fixture
def odyssey_result(odyssey_task: Any) -> Any:
    """For a served agent: the result of this repeat."""
    return _PerRepeatValue("odyssey_result")
