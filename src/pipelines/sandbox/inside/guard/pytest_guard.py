"""A pytest plugin that tells the grader what a session came to, before code under test can change the story.

The code that is graded runs in the same process: it may end it early, patch pytest or write its reports. So
the session says when it begins, how each test went, whether a test that must fail still does, and when it
really ends. Loaded by `-p`, before any conftest.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import atexit
import json
import os
import socket

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
        self._pid = _PID
        self._say(begun=True)
        atexit.register(self._left)

    def _left(self):
        if os.getpid() == self._pid:  # not a fork of it
            self._say(left=True)

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
        self._say(ended=int(exitstatus), outcomes=self._outcomes, must_fail=self._must_fail())

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


def pytest_configure(config):
    if _NAME and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Guard(_connected()), "pipelines-guard")
