"""`pipelines odyssey doctor` on agents that are right and on agents that are wrong in one way each."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from pipelines.cli.main import app as cli
from support.desk import AGENT, STATE, TOOLS
from support.server_process import PATIENCE_S, Api, clean_environment
from support.warm_process import finished

GOOD_APP = """
import hmac, os
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

TOKEN = os.environ["AGENT_TOKEN"]

def is_let_in(request):
    given = request.headers.get("authorization", "")
    return hmac.compare_digest(given.encode(), f"Bearer {TOKEN}".encode())

async def dispatch(request):
    if not is_let_in(request):
        return JSONResponse({}, 401)
    if await request.json() == {"ping": True}:
        return JSONResponse({"ok": True})
    return JSONResponse({"final_response": "Done."})

app = Starlette(routes=[Route("/dispatch", dispatch, methods=["POST"])])
"""
WSGI_APP = """
import json, os

def app(environ, start_response):
    ok = environ.get("HTTP_AUTHORIZATION") == "Bearer " + os.environ["AGENT_TOKEN"]
    start_response("200 OK" if ok else "401 Unauthorized", [("Content-Type", "application/json")])
    return [json.dumps({"ok": ok}).encode()]
"""
OPEN_DOOR = GOOD_APP.replace('hmac.compare_digest(given.encode(), f"Bearer {TOKEN}".encode())', "True")
PING_FIRST = GOOD_APP.replace(
    "    if not is_let_in(request):",
    '    if await request.json() == {"ping": True}:\n        return JSONResponse({"ok": True})\n'
    "    if not is_let_in(request):",
)
AS_TEXT = GOOD_APP.replace(
    'hmac.compare_digest(given.encode(), f"Bearer', 'hmac.compare_digest(given, f"Bearer'
).replace('{TOKEN}".encode())', '{TOKEN}")')
NO_PING = GOOD_APP.replace('    if await request.json() == {"ping": True}:', "    if False:")
NO_LIFE = GOOD_APP.replace(
    'methods=["POST"])])',
    'methods=["POST"])], lifespan=lifespan)',
).replace(
    "app = Starlette",
    "async def lifespan(app):\n    raise RuntimeError('no database')\n    yield\n\napp = Starlette",
)
TASKS = [{"user": "Refund 4521.", "state": STATE, "expected_state": {"order.4521.status": "refunded"}}]


class Seen(NamedTuple):
    code: int
    findings: list[dict[str, Any]]
    stdout: str

    def of(self, check: str, level: str) -> dict[str, Any]:
        found = [each for each in self.findings if (each["check"], each["level"]) == (check, level)]
        assert found, f"no {level} of {check} in {self.stdout}"
        return found[0]

    @property
    def problems(self) -> list[dict[str, Any]]:
        return [each for each in self.findings if each["level"] == "problem"]


class Folder:
    def __init__(self, path: Path, server: str) -> None:
        self.path = path
        self.server = server

    def write(self, **files: Any) -> None:
        for name, content in files.items():
            name = name.replace("_py", ".py").replace("_json", ".json").replace("_csv", ".csv")
            text = content if isinstance(content, str) else json.dumps(content)
            (self.path / name).write_text(text)

    def process(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        env = clean_environment() | {"COLUMNS": "80", "NO_COLOR": "1"} | env
        words = ("odyssey", "doctor", "--dir", str(self.path), *arguments)
        return finished(*words, env=env, timeout=PATIENCE_S * 2)

    def examined(self, *arguments: str, **env: str) -> Seen:
        """In this process; the app that is examined has one of its own all the same."""
        words = ["odyssey", "doctor", "--dir", str(self.path), "--json", "--server", self.server, *arguments]
        done = CliRunner().invoke(cli, words, env={"AGENT_TOKEN": None} | env)
        assert done.exit_code in (0, 1), done.output
        return Seen(done.exit_code, json.loads(done.stdout)["findings"], done.stdout)


def csv_of(rows: list[dict[str, Any]]) -> str:
    columns = list(rows[0])
    cells = [[row[c] if isinstance(row[c], str) else json.dumps(row[c]) for c in columns] for row in rows]
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in cells]
    return "\n".join([",".join(columns), *quoted]) + "\n"


@pytest.fixture
def folder(tmp_path: Path, api: Api) -> Folder:
    made = Folder(tmp_path, api.url)
    made.write(
        app_py=GOOD_APP,
        agent_json=AGENT | {"auth_header_name": "Authorization"},
        tasks_csv=csv_of(TASKS),
    )
    return made


def test_an_agent_that_is_right_gets_only_good_words(folder: Folder):
    seen = folder.examined("--app", "app:app", "--dataset", "tasks.csv", AGENT_TOKEN="secret-of-the-test")
    assert seen.code == 0
    assert {each["level"] for each in seen.findings} == {"ok"}, seen.stdout
    checks = ["versions", "import", "auth", "auth header", "ping", "proxy", "agent file", "tasks", "plans"]
    assert [each["check"] for each in seen.findings] == checks
    assert "secret-of-the-test" not in seen.stdout


def test_a_wsgi_app_is_examined_too(folder: Folder):
    folder.write(app_py=WSGI_APP)
    assert folder.examined().problems == []


WRONG_APPS = {
    "anyone is let in": (OPEN_DOOR, "auth", "anyone can dispatch"),
    "the ping comes before the auth": (PING_FIRST, "auth", "the ping comes before the auth"),
    "another path": (GOOD_APP.replace("/dispatch", "/run"), "auth", "answers 404"),
    "another variable": (GOOD_APP.replace('"AGENT_TOKEN"', '"PATH"'), "ping", "gets 401"),
    "startup fails": (NO_LIFE, "import", "did not start"),
    "a package is missing": ("import no_such_package\n", "import", "app.py:1: ModuleNotFoundError"),
    "no such name": (GOOD_APP.replace("app = ", "apps = "), "import", "did you mean apps"),
    "no app at all": ("app = 42\n", "import", "int, not an ASGI or WSGI app"),
    "a syntax error": ("x = 1\ndef broken(:\n", "import", "app.py:2: SyntaxError"),
    "it exits": ("import sys\nsys.exit('bye')\n", "import", "app.py:2: SystemExit: bye"),
    "it ends the process": ("import os\nos._exit(3)\n", "import", "ended with code 3"),
    "an error deep inside": ("import json\nVALUE = json.loads('{')\n", "import", "app.py:2: json.decoder"),
}


@pytest.mark.parametrize("name", WRONG_APPS)
def test_what_is_wrong_with_an_app_is_said_with_what_to_change(folder: Folder, name: str):
    source, check, words = WRONG_APPS[name]
    folder.write(app_py=source)
    seen = folder.examined("--app", "app:app")
    assert seen.code == 1
    found = seen.of(check, "problem")
    assert words in found["seen"]
    assert found["change"]


def test_tokens_that_are_compared_as_text_are_a_warning(folder: Folder):
    """A crash keeps strangers out, too; the reference wrapper does so."""
    folder.write(app_py=AS_TEXT)
    seen = folder.examined("--app", "app:app")
    assert seen.problems == []
    found = seen.of("auth header", "warning")
    assert "crashes the agent (500)" in found["seen"]
    assert "encode()" in found["change"]


def test_a_ping_that_is_run_as_a_dispatch_is_a_warning(folder: Folder):
    folder.write(app_py=NO_PING)
    seen = folder.examined()
    assert seen.code == 0
    assert "as if it were a dispatch" in seen.of("ping", "warning")["seen"]


def test_the_route_that_is_there_is_named(folder: Folder):
    folder.write(app_py=GOOD_APP.replace("/dispatch", "/run"))
    assert "/run" in folder.examined().of("auth", "problem")["change"]


def test_what_the_app_prints_does_not_spoil_the_json(folder: Folder):
    folder.write(app_py="print('hello from the app')\n" + GOOD_APP)
    assert folder.examined().problems == []


WRONG_FILES = {
    "broken JSON": ({"agent_json": "{"}, "agent file", "agent.json"),
    "an unknown field": ({"agent_json": AGENT | {"colour": "red"}}, "agent file", "colour"),
    "a tool without a schema": (
        {"agent_json": {"name": "a", "tools_schema": [{"name": "x"}]}},
        "agent file",
        "input_schema",
    ),
    "a broken plan": (
        {"agent_json": AGENT | {"tools_schema": [TOOLS[0] | {"simulation": [{"retrun": 1}]}]}},
        "plans",
        "retrun",
    ),
    "a CSV that is none": ({"tasks_csv": 'user,state\nDo it.,"{not json"\n'}, "tasks", "row 2"),
    "an unknown column": ({"tasks_csv": "user,colour\nDo it.,red\n"}, "tasks", "colour"),
    "an undeclared tool": (
        {"tasks_csv": csv_of([TASKS[0] | {"expected_calls": {"must": [{"tool": "fly"}]}}])},
        "tasks",
        "`fly`",
    ),
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_what_is_wrong_with_a_file_is_said(folder: Folder, name: str):
    files, check, words = WRONG_FILES[name]
    (folder.path / "app.py").unlink()
    folder.write(**files)
    seen = folder.examined()
    assert seen.code == 1
    assert any(words in each["seen"] for each in seen.problems if each["check"] == check), seen.stdout


def test_all_problems_come_at_once(folder: Folder):
    broken = AGENT | {"tools_schema": [{"name": "x"}, {"name": "1"}], "run_timeout_s": -1}
    folder.write(app_py="import nothing_here", agent_json=broken, tasks_csv="user,colour\nDo it.,red\n")
    seen = folder.examined()
    assert {each["check"] for each in seen.problems} == {"import", "agent file", "tasks"}
    assert len(seen.problems) >= 5


def test_doubts_are_warnings_and_no_reason_to_stop(folder: Folder):
    told = {"user": "Do it.", "state": STATE, "behavior": "Wibble the frobs on alternate moons."}
    folder.write(agent_json=AGENT | {"auth_header_value": None}, tasks_csv=csv_of([told]))
    seen = folder.examined()
    assert seen.code == 0
    assert "AGENT_TOKEN is not set" in seen.of("auth token", "warning")["seen"]
    assert "no auth header" in seen.of("agent file", "warning")["seen"]
    assert "row 2" in seen.of("tasks", "warning")["seen"]
    assert "Wibble" in seen.of("plans", "warning")["seen"]


def test_each_sentence_is_shown_as_it_is_read_or_with_the_nearest_that_is(folder: Folder):
    text = "Shipped orders cannot be cancelled. cancel_order rejects suspicious shipped orders."
    row = {"user": "Do it.", "state": STATE, "behavior": text}
    folder.write(agent_json=AGENT, tasks_csv=csv_of([row]))
    seen = folder.examined()
    read = seen.of("sentences", "ok")["seen"]
    assert "is read as “cancel_order fails when the order's status is 'shipped'.”" in read
    told = seen.of("plans", "warning")
    assert told["seen"].startswith("row 2, not understood, so not enforced: cancel_order rejects suspicious")
    assert told["change"].startswith("nearest: “cancel_order fails when the order's status is 'shipped'.”")


def test_a_tool_that_would_be_a_guess_is_a_warning(folder: Folder):
    unclear = {"name": "run_close", "description": "Runs it.", "input_schema": {"type": "object"}}
    folder.write(agent_json=AGENT | {"tools_schema": [*TOOLS, unclear]})
    told = folder.examined().of("plans", "warning")
    assert told["seen"].startswith("run_close is a guess (confidence 0.30)")
    assert "to confirm it, give" in json.dumps(told)


def test_the_next_command_is_told_as_it_is_typed_here(folder: Folder):
    where = f" --dir {folder.path}"
    assert json.loads(folder.examined().stdout)["next"] == f"pipelines odyssey dev{where}"
    folder.write(app_py="x = 1\ndef broken(:\n")
    assert json.loads(folder.examined().stdout)["next"] == f"pipelines odyssey doctor{where}"
    (folder.path / "app.py").unlink()
    (folder.path / "agent.json").unlink()
    assert json.loads(folder.examined().stdout)["next"] == f"pipelines odyssey init{where}"


def test_the_platform_that_was_named_has_to_be_there(folder: Folder):
    folder.server = "http://127.0.0.1:9"
    assert "cannot be reached" in folder.examined().of("proxy", "problem")["seen"]


def test_a_server_that_is_no_platform_is_found_out(folder: Folder):
    with answering(lambda handler: (404, b"{}")) as url:
        folder.server = url
        assert "404 instead of 401" in folder.examined().of("proxy", "problem")["seen"]


def test_without_a_named_platform_its_absence_is_a_warning(folder: Folder):
    folder.server = ""
    assert folder.examined().problems == []


# -- a running agent


@contextmanager
def answering(answer: Any) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status, body = answer(self)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def knows_its_token(handler: BaseHTTPRequestHandler) -> tuple[int, bytes]:
    ok = handler.headers.get("Authorization") == "Bearer the-token"
    return (200, b'{"ok": true}') if ok else (401, b"{}")


def test_a_running_agent_is_examined_by_its_url(folder: Folder):
    with answering(knows_its_token) as url:
        seen = folder.examined("--url", f"{url}/dispatch", AGENT_TOKEN="the-token")
        assert (seen.code, seen.of("ping", "ok")["seen"]) == (0, "answered 200")
        seen = folder.examined("--url", f"{url}/dispatch", AGENT_TOKEN="another")
        assert "gets 401" in seen.of("ping", "problem")["seen"]
        seen = folder.examined("--url", f"{url}/dispatch", AGENT_TOKEN="")
        assert "not tried" in seen.of("ping", "warning")["seen"]
        seen = folder.examined("--url", f"{url}/dispatch", "--token-env", "OTHER", OTHER="the-token")
        assert seen.code == 0
    seen = folder.examined("--url", f"{url}/dispatch")
    assert "does not answer" in seen.of("ping", "problem")["seen"]


# -- code to upload

CODE_AGENT = {"name": "coded", "mode": "code", "tools_schema": AGENT["tools_schema"]}
RUN = "def run(task_input, *, proxy_url, run_token):\n    return 'Done.'\n"
WRONG_CODE = {
    "no file": ({}, "nothing to call"),
    "a syntax error": ({"agent_py": "def run(:\n"}, "line 1"),
    "no function": ({"agent_py": "x = 1\n"}, "no function `run`"),
    "another signature": ({"agent_py": "def run(task):\n    pass\n"}, "proxy_url"),
}


@pytest.mark.parametrize("name", WRONG_CODE)
def test_code_that_cannot_be_called_is_found_out(folder: Folder, name: str):
    files, words = WRONG_CODE[name]
    (folder.path / "app.py").unlink()
    folder.write(agent_json=CODE_AGENT, **files)
    seen = folder.examined()
    assert seen.code == 1
    assert words in seen.of("entry", "problem")["seen"]


def test_what_is_uploaded_is_listed_and_the_tasks_are_not(folder: Folder):
    folder.write(agent_json=CODE_AGENT, agent_py="import pipelines.odyssey\n" + RUN, test_agent_py="")
    seen = folder.examined()
    assert seen.code == 0, seen.stdout
    assert seen.of("upload", "ok")["seen"] == "agent.py, app.py and the SDK"


def test_a_table_that_the_code_reads_is_uploaded_and_one_of_tasks_is_not(folder: Folder):
    (folder.path / "data").mkdir()
    (folder.path / "data" / "prices.csv").write_text("item,price\nlamp,10\n")
    (folder.path / "more_tasks.csv").write_text("user\nhello\n")
    folder.write(agent_json=CODE_AGENT, agent_py=RUN)
    assert folder.examined().of("upload", "ok")["seen"] == "agent.py, app.py, data/prices.csv"


# -- for people


def test_the_table_fits_80_columns_and_says_what_to_do(folder: Folder):
    folder.write(app_py="import nothing_here\n")
    done = folder.process("--server", folder.server)
    assert done.returncode == 1
    *lines, next_command = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert next_command == f"Correct this, then: pipelines odyssey doctor --dir {folder.path}"
    assert "\x1b" not in done.stdout
    shown = " ".join(done.stdout.split())
    assert "app.py:1: ModuleNotFoundError: No module named 'nothing_here'" in shown
    assert "→ install what is missing: pip install -r requirements.txt" in shown
    assert "1 problem" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--app", "app"], "module:attribute"),
        (["--dir", "no-such-folder"], "no such directory"),
        (["--colour"], "No such option"),
    ],
)
def test_wrong_usage_is_exit_code_2(folder: Folder, arguments: list[str], words: str):
    done = CliRunner().invoke(cli, ["odyssey", "doctor", "--dir", str(folder.path), *arguments])
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


def test_an_empty_folder_is_not_ready(tmp_path: Path):
    said = CliRunner().invoke(cli, ["odyssey", "doctor", "--dir", str(tmp_path)])
    assert said.exit_code == 1
    assert "there is no agent" in said.output
    assert "Not ready" in said.output


def test_rules_of_agent_and_tasks_that_name_what_is_not_there_are_warned_of(folder: Folder):
    once = {"name": "once", "form": "limit_calls", "tools": ["cancel_order"], "count": 1}
    own = {"form": "require", "tools": ["cancel_order"], "expression": "order.statu == 'pending'"}
    folder.write(
        agent_json=AGENT | {"auth_header_name": "Authorization", "rules": [once]},
        tasks_csv=csv_of([TASKS[0] | {"rules": [own, {"off": "once"}]}]),
    )
    seen = folder.examined(AGENT_TOKEN="secret-of-the-test")
    assert seen.code == 0
    assert "rule 1: `order` has no field `statu`" in seen.of("rules", "warning")["seen"]
    folder.write(agent_json=AGENT | {"rules": [once | {"tools": ["cancel_ordr"]}]})
    seen = folder.examined(AGENT_TOKEN="secret-of-the-test")
    assert "declares no tool `cancel_ordr`" in seen.of("agent file", "problem")["seen"]
