"""What is logged, and how: one line per request on both ways, as text or JSON, and nothing that is secret."""

import json
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.server.http import access_log
from pipelines.server.service.logs import JsonLines, TextLines
from support.proxy_twins import Served, Twins, auth, call_of, converse, twins

SECRET = "s3cret-in-a-query"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    with twins(tmp_path_factory.mktemp("twins"), runs=20, access_log="yes") as opened:
        yield opened


def lines_of(
    served: Served, requests: list[bytes], caplog: pytest.LogCaptureFixture
) -> list[logging.LogRecord]:
    served.do(lambda: None)  # the line of an earlier request is written after its answer was sent
    caplog.clear()
    with caplog.at_level(logging.INFO, access_log.LOGGER):
        converse(served, requests)
        served.do(lambda: None)
    return [record for record in caplog.records if record.name == access_log.LOGGER]


def fields(record: logging.LogRecord) -> dict[str, Any]:
    told: dict[str, Any] = vars(record)[access_log.FIELDS]
    return told


def get(path: str, *, token: str = "") -> bytes:
    sent = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n{sent}\r\n".encode()


def test_both_ways_log_the_same_lines(pair: Twins, caplog: pytest.LogCaptureFixture) -> None:
    run = pair.fresh_run()
    requests = [
        call_of(run, "get_order"),
        call_of(run, "get_order"),
        call_of(run, "nothing.at-all_"),
        call_of(run, "get_order", b"{"),
        get("/api/odyssey-proxy/tools", token=run.token),
        get("/health"),
        get("/api/odyssey-proxy/tools", token="nobody"),
        get(f"/api/runs/{run.id}/trace", token=pair.key),
        get("/api/runs", token=pair.key),
    ]
    told = [
        [fields(line) for line in lines_of(served, requests, caplog)] for served in (pair.lean, pair.asgi)
    ]
    assert all(line["duration_ms"] > 0 for lines in told for line in lines)
    lean, asgi = ([line | {"duration_ms": 0} for line in lines] for lines in told)
    assert lean == asgi
    tools = "/api/odyssey-proxy/tools"
    assert [(line["method"], line["path"], line["status"], line["run_id"]) for line in lean] == [
        ("POST", f"{tools}/get_order", 200, run.id),
        ("POST", f"{tools}/get_order", 200, run.id),
        ("POST", f"{tools}/nothing.at-all_", 404, run.id),
        ("POST", f"{tools}/get_order", 400, run.id),
        ("GET", tools, 200, run.id),
        ("GET", "/health", 200, None),
        ("GET", tools, 401, None),
        ("GET", f"/api/runs/{run.id}/trace", 200, run.id),
        ("GET", "/api/runs", 200, None),
    ]


@pytest.mark.parametrize("way", ["lean", "asgi"])
def test_a_request_in_text_names_its_run(pair: Twins, way: str, caplog: pytest.LogCaptureFixture) -> None:
    run = pair.fresh_run()
    called, asked = lines_of(pair.served(way), [call_of(run, "get_order"), get("/health")], caplog)
    assert TextLines().format(called).endswith(f" ms run {run.id}")
    assert TextLines().format(asked).endswith(" ms")


@pytest.mark.parametrize("way", ["lean", "asgi"])
def test_no_token_and_no_query_is_in_a_line(pair: Twins, way: str, caplog: pytest.LogCaptureFixture) -> None:
    run = pair.fresh_run()
    asked = f"POST /api/odyssey-proxy/tools/get_order?token={SECRET} HTTP/1.1\r\n{auth(run)}"
    requests = [
        call_of(run, "get_order"),
        f"{asked}Content-Length: 2\r\n\r\n{{}}".encode(),
        get(f"/api/agents?q={SECRET}", token=pair.key),
    ]
    records = lines_of(pair.served(way), requests, caplog)
    assert len(records) == 3
    shown = "\n".join(layout.format(record) for record in records for layout in (TextLines(), JsonLines()))
    for secret in (run.token, pair.key, SECRET):
        assert secret not in shown


def test_requests_are_not_logged_unless_wanted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with twins(tmp_path, runs=1) as silent:
        requests = [call_of(silent.fresh_run(), "get_order"), get("/health")]
        assert [lines_of(served, requests, caplog) for served in (silent.lean, silent.asgi)] == [[], []]


def test_a_path_cannot_begin_a_line_of_its_own(pair: Twins, caplog: pytest.LogCaptureFixture) -> None:
    (record,) = lines_of(pair.lean, [get("/x%0A2026-01-01T00:00:00.000Z%20ERROR%20forged")], caplog)
    for layout in (TextLines(), JsonLines()):
        assert "\n" not in layout.format(record)
    assert json.loads(JsonLines().format(record))["path"].startswith("/x\n2026")


def record_of(message: str, *arguments: object, error: Exception | None = None) -> logging.LogRecord:
    logger = logging.getLogger("pipelines.somewhere")
    try:
        if error is not None:
            raise error
    except Exception:  # noqa: BLE001 - as it is where things are logged
        raised = sys.exc_info()
        return logger.makeRecord(logger.name, logging.ERROR, "f", 1, message, arguments, raised)
    return logger.makeRecord(logger.name, logging.WARNING, "f", 1, message, arguments, None)


def test_a_line_of_text_has_time_level_and_place() -> None:
    line = TextLines().format(record_of("%s failed", "it"))
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z WARNING pipelines\.somewhere: it failed", line
    )


def test_a_line_of_json_keeps_the_exception_in_one_line() -> None:
    line = JsonLines().format(record_of("%s failed", "it", error=ValueError("two\nlines")))
    assert "\n" not in line
    told = json.loads(line)
    assert (told["level"], told["logger"], told["message"]) == ("error", "pipelines.somewhere", "it failed")
    assert "ValueError: two\nlines" in told["exception"]
