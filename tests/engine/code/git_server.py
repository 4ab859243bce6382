"""A git server on loopback: git's own http-backend behind a small CGI, as hosting sites run it."""

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_EXEC_PATH = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True)
BACKEND = Path(_EXEC_PATH.stdout.strip()) / "git-http-backend"


def git(folder: Path, *arguments: str) -> str:
    """git as an author uses it, without the configuration of whoever runs the tests."""
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    named = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *named, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | own,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def repository(folder: Path, files: Mapping[str, str | bytes]) -> str:
    """A repository with one commit of these files; the commit's id."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet")
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "first")
    return git(folder, "rev-parse", "HEAD")


class GitServer:
    def __init__(self, root: Path, redirect_to: str | None = None) -> None:
        self.asked: list[str] = []
        self._server = _Listening(("127.0.0.1", 0), _handler(self, root, redirect_to))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"


class _Listening(ThreadingHTTPServer):
    daemon_threads = True


def _handler(server: GitServer, root: Path, redirect_to: str | None) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, body: bytes) -> None:
            server.asked.append(self.path)
            if redirect_to is not None:
                self.send_response(302)
                self.send_header("Location", redirect_to + self.path)
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            environment = {
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "PATH": os.environ["PATH"],
            }
            done = subprocess.run([BACKEND], input=body, env=environment, capture_output=True, check=False)
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    return Handler


@contextmanager
def git_server(root: Path, redirect_to: str | None = None) -> Iterator[GitServer]:
    server = GitServer(root, redirect_to)
    thread = threading.Thread(target=server._server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server._server.shutdown()
        server._server.server_close()
        thread.join()
