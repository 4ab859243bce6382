"""A pytest plugin that tells the grader what a session came to, before code under test can change the story.

The code that is graded runs in the same process: it may end it early, patch pytest or write its reports. So
the session says when it begins, how each test went, whether a test that must fail still does, what of the
runner is another than when it was loaded, and when it really ends. Loaded by `-p`, before any conftest.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import atexit
import json
import os
import socket
import unittest

import _pytest.main
import _pytest.python
import _pytest.reports
import _pytest.runner
import pytest

_NAME = os.environ.pop("PIPELINES_GUARD", "")
_PID = os.getpid()


def _connected():
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.connect("\0" + _NAME)
    return link


class Guard:
    def __init__(self, link, dumps=json.dumps):
        self._say = lambda **told: link.sendall(dumps(told).encode() + b"\n")
        self._outcomes = {}
        self._items = []
        self._plugins = {}
        self._pid = _PID
        self._say(begun=True)
        atexit.register(self._report_exit)

    def _report_exit(self):
        if os.getpid() == self._pid:  # not a fork of it
            self._say(left=True)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session):
        """From here on only conftest files of folders join."""
        self._plugins = dict(session.config.pluginmanager.list_name_plugin())

    def pytest_collection_finish(self, session):
        self._items = list(session.items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        known = self._outcomes.get(report.nodeid, "passed")
        if report.when == "call" or report.outcome != "passed":
            worse = report.outcome if known == "passed" else known
            self._outcomes[report.nodeid] = "xfailed" if hasattr(report, "wasxfail") else worse

    def pytest_collectreport(self, report):
        if report.failed:
            self._outcomes[report.nodeid] = "error"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session, exitstatus):
        changed = _changed(_LOADED)
        if type(self._outcomes) is not dict or type(session.testsfailed) is not int:
            changed.append("what the session has seen")
        changed += self._joined(session.config.pluginmanager)
        self._say(
            ended=int(exitstatus), outcomes=self._outcomes, must_fail=self._must_fail(), changed=changed[:20]
        )

    def _joined(self, manager):
        """Plugins that code under test has brought while it ran."""
        found = []
        for name, plugin in manager.list_name_plugin():
            file = getattr(plugin, "__file__", None) or ""
            is_conftest = os.path.basename(file) == "conftest.py" and os.path.exists(file)
            if plugin is not None and self._plugins.get(name) is not plugin and not is_conftest:
                found.append(f"a plugin that joined it ({type(plugin).__name__})")
        return found

    def _must_fail(self):
        """The outcome of a test that raises: `failed`, unless somebody has seen to it that nothing fails."""
        if not self._items:
            return "failed"
        from _pytest.runner import runtestprotocol

        def raising():
            raise AssertionError("this must fail")

        try:
            parent = self._items[-1].parent
            item = pytest.Function.from_parent(parent, name="test_" + os.urandom(6).hex(), callobj=raising)
            reports = runtestprotocol(item, log=False, nextitem=None)
            return "failed" if any(report.failed for report in reports) else "passed"
        except Exception:  # noqa: BLE001 - a project's own plugins may not take an item of ours: nothing is known
            return "failed"


def _functions(thing):
    """Its functions by name, each with its code: one may be exchanged and the other kept."""
    found = {}
    for name, value in vars(thing).items():
        inner = getattr(value, "__func__", value)
        if callable(inner) or isinstance(inner, property):
            found[name] = (value, getattr(inner, "__code__", None))
    return found


#: What decides how a test went, and what tells it.
_WATCHED = (
    *(_pytest.runner, _pytest.reports.TestReport, _pytest.main.Session, _pytest.python.Function),
    *(unittest.TestCase, Guard),
)
_LOADED: dict[object, object] = {}


def pytest_load_initial_conftests():
    """pytest's own plugins have done theirs by now, and no file of the workspace is loaded yet."""
    _LOADED.update((thing, _functions(thing)) for thing in _WATCHED)


def _changed(loaded):
    found = []
    for thing, before in loaded.items():
        after = _functions(thing)
        for name in sorted(before.keys() | after.keys()):
            old, new = before.get(name), after.get(name)
            if old is None or new is None or old[0] is not new[0] or old[1] is not new[1]:
                found.append(f"{thing.__name__}.{name}")
    return found


def pytest_configure(config):
    if _NAME and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Guard(_connected()), "pipelines-guard")
