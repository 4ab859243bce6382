"""`pipelines up` and `worker`: prepare the data directory, print the addresses, serve until stopped."""

import asyncio
import fcntl
import gc
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import typer
import uvicorn
from rich.console import Console
from rich.markup import escape

from pipelines.cli.files import exit_with_problems
from pipelines.core.text.problems import Refused
from pipelines.server.app import App
from pipelines.server.config.settings import Settings, load_settings
from pipelines.server.http.http_protocol import OneWriteProtocol
from pipelines.server.http.open_connections import raise_open_files
from pipelines.server.proxy.fast_proxy import LeanProxyProtocol
from pipelines.server.service import logs
from pipelines.server.service.first_start import SECRET_FILE, FirstStart, check_schema, prepare
from pipelines.server.service.private_files import close_folder

stderr = Console(stderr=True, highlight=False)
LOCK_FILE = "lock"
EVERYWHERE = ("0.0.0.0", "::")
GRACE_S = 5  # what is in flight at Ctrl-C may take this long to end
#: No database is waited for longer than this: what is under way ends as by a kill.
STOP_S = 8
FORCED_EXIT_CODE = 74  # of sysexits.h: an error of input or output
#: Connections in a turn of the event loop. libuv takes one for each socket that listens, so one socket stands
#: for several: whoever connects behind 500 others would wait for as many turns.
ACCEPTED_AT_ONCE = 16
ASK_PATIENCE_S = (
    4  # and a call that waits for something outside this long: then it is still told what happened
)


def start(**flags: Any) -> None:
    settings = _load_settings(**flags)
    try:
        started = prepare(settings)
    except Refused as refused:
        raise exit_with_problems(refused) from None
    with _lock_data(settings):
        listener = _listener(settings)
        url = _own_url(settings, listener)
        raise_open_files()
        app = _make_app(settings, own_url=url)
        _announce(settings, started, url)
        _announce_groups(app)
        typer.echo("Stop with Ctrl-C.")
        _serve(app, listener, settings)


@contextmanager
def _lock_data(settings: Settings) -> Iterator[None]:
    """Two servers on one SQLite file would take over each other's runs: the second one is refused."""
    if settings.is_shared:
        yield
        return
    file = settings.database_path.resolve()  # by whatever name or link it was reached
    with (
        _hold_lock(settings.data_dir / LOCK_FILE, settings.data_dir.resolve()),
        _hold_lock(file.with_name(f"{file.name}.{LOCK_FILE}"), file),
        _hold_identity(file),
    ):
        yield


@contextmanager
def _hold_lock(lock_file: Path, guarded: Path) -> Iterator[None]:
    """Locks a file of its own: on a network file system, a lock on the database would block SQLite."""
    with lock_file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            _tell_of_another(guarded)
            raise typer.Exit(2) from None
        yield


@contextmanager
def _hold_identity(file: Path) -> Iterator[None]:
    """A hard link is another path to the same file: SQLite, and the locks above, take it for another one. The
    name of a socket is held by the process alone, and needs no folder that both can write to."""
    seen = file.stat()
    with socket.socket(socket.AF_UNIX) as holder:
        if sys.platform == "linux":  # others have no such names
            try:
                holder.bind(f"\0pipelines-{seen.st_dev:x}-{seen.st_ino:x}")
            except OSError:
                _tell_of_another(file)
                raise typer.Exit(2) from None
        yield


def _tell_of_another(guarded: Path) -> None:
    stderr.print(f"[red]Another server is running on {escape(str(guarded))}[/].", soft_wrap=True)
    stderr.print("Stop it, choose another --data-dir, or share a Postgres database: --database-url.")


def start_worker(**flags: Any) -> None:
    settings = _load_settings(**flags)
    if not settings.is_shared:
        stderr.print(
            "[red]A worker shares a Postgres database with its server[/]: --database-url postgresql://…"
        )
        stderr.print("On SQLite, `pipelines up` does all the work itself.")
        raise typer.Exit(2)
    if not settings.secret_key and not (settings.data_dir / SECRET_FILE).exists():
        stderr.print(
            "[red]A worker needs the server's secret key[/]: PIPELINES_SECRET_KEY, or its --data-dir."
        )
        raise typer.Exit(2)
    try:
        close_folder(settings.data_dir)
        check_schema(settings)
    except Refused as refused:
        raise exit_with_problems(refused) from None
    listener = _listener(settings)
    url = _own_url(settings, listener)
    app = _make_app(settings, own_url=url, is_worker=True)
    typer.echo(f"Worker at {url}, on the batches of {settings.database_url.rpartition('@')[2]}")
    _announce_groups(app)
    typer.echo("Stop with Ctrl-C.")
    raise_open_files()
    _serve(app, listener, settings)


def _make_app(settings: Settings, *, own_url: str, is_worker: bool = False) -> App:
    try:
        return App(settings, own_url=own_url, is_worker=is_worker)
    except Refused as refused:
        raise exit_with_problems(refused) from None


def _load_settings(**flags: Any) -> Settings:
    try:
        settings = load_settings(**flags)
    except Refused as refused:
        raise exit_with_problems(refused) from None
    logs.configure(level=settings.log_level, format=settings.log_format)
    return settings


def _listener(settings: Settings) -> socket.socket:
    try:
        return _listen(settings)
    except OSError as error:
        stderr.print(f"[red]Cannot listen on {settings.host}:{settings.port}[/]: {error.strerror or error}")
        stderr.print("Choose another with --port, or --port 0 for any free one.")
        raise typer.Exit(2) from None


def _serve(app: App, listener: socket.socket, settings: Settings) -> None:
    server = _Server(server_config(app), app, stop_s=STOP_S if settings.is_shared else None)
    server.run(sockets=[listener, *(listener.dup() for _ in range(ACCEPTED_AT_ONCE - 1))])


def server_config(app: App, protocol: type[OneWriteProtocol] = LeanProxyProtocol) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol,
        loop="uvloop",
        ws="none",
        log_config=None,  # what is logged, and how, is set by `logs`
        log_level=None,
        access_log=False,  # ours has the duration and the run, and no query
        server_header=False,
        proxy_headers=False,  # PIPELINES_PUBLIC_URL says what agents should call; headers could be forged
        timeout_graceful_shutdown=GRACE_S,
    )


#: How long a thread that computes (a judge, a reader of plans) keeps the interpreter from the loop. A request
#: passes through several threads, so with Python's 5 ms two judges make it wait a third of a second.
SWITCH_S = 0.001
#: New objects before the collector looks at them, how often before it looks at those a second time, and how
#: often that before it looks at all. By Python's own numbers one large body made it look at all twice,
#: which holds everybody up for 40 to 170 ms; hourly, it does anyway. Looking at 10,000 took 10 ms, in which
#: one list in a hundred came.
GC_THRESHOLDS = (2_000, 25, 1_000)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, app: App, *, stop_s: float | None) -> None:
        """`stop_s`: how long a stop may take; None if it waits for nothing on a network."""
        super().__init__(config)
        self._app = app
        self._stop_s = stop_s
        self._cutting_off: threading.Timer | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Freeze the 300,000 objects of a started server: otherwise the garbage collector would scan them
        whenever a large body is read, for 0.1 s each time."""
        await super().startup(sockets)
        sys.setswitchinterval(SWITCH_S)
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._stop_s is not None and self._cutting_off is None:
            self._cutting_off = threading.Timer(self._stop_s, _force_exit, [self._stop_s])
            self._cutting_off.daemon = True
            self._cutting_off.start()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        giving_up = asyncio.get_running_loop().call_later(ASK_PATIENCE_S, self._app.give_up_asking)
        try:
            await super().shutdown(sockets)
        finally:
            giving_up.cancel()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn raises the signal again once it has stopped, which makes a clean stop look like a crash."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()


def _force_exit(stop_s: float) -> None:
    """Exit even if threads still wait for the database."""
    text = f"Not stopped after {stop_s:g} s, probably because the database does not answer: forced to stop."
    stderr.print(f"{text}\nThe next start continues the work that was under way.", soft_wrap=True)
    os._exit(FORCED_EXIT_CODE)


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((settings.host, settings.port))
    listener.listen(2048)
    return listener


def _own_url(settings: Settings, listener: socket.socket) -> str:
    """The URL for this machine: a server that listens on every address also listens on loopback."""
    named = "127.0.0.1" if settings.host in EVERYWHERE else settings.host
    host = f"[{named}]" if ":" in named else named
    return f"http://{host}:{listener.getsockname()[1]}"


def _announce_groups(app: App) -> None:
    if app.groups is not None:
        typer.echo(f"Uploaded code: {app.groups.describe()}")


def _announce(settings: Settings, started: FirstStart, url: str) -> None:
    if started.key_file.is_file():
        from pipelines.odyssey.started_servers import note_server

        note_server(url, started.key_file)
    typer.echo(f"Odyssey is at {url}  (API docs: {url}/docs)")
    if started.sign_in_code is not None:
        typer.echo(f"Open {url}/sign-in?code={started.sign_in_code}  (signs you in, once)")
    typer.echo(f"Data: {settings.data_dir.resolve()}")
    if started.key is not None:
        typer.echo(f"API key, shown this once: {started.key}")
        typer.echo(f"It is also in {started.key_file}, readable only by you.")
    if settings.host in EVERYWHERE and not settings.public_url:
        typer.echo("Agents on other machines need PIPELINES_PUBLIC_URL: where they reach this server.")
