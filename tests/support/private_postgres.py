"""A Postgres of the tests' own: a fresh cluster on a free port, gone when they are.

Durability is off: what is tested is who sees what, not whether the disk keeps it.
"""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pipelines.storage.database.postgres_store import PostgresStore
from support.ports import free_port

PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
PATIENCE_S = 60
ROOM_BYTES = 2 * 1024**3
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "16MB",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
}


def binaries() -> Path | None:
    found = shutil.which("postgres")
    if found is not None:
        return Path(found).resolve().parent
    places = sorted(place for pattern in PLACES for place in glob.glob(pattern))
    return Path(places[-1]) if places else None


class Cluster:
    def __init__(self, port: int) -> None:
        self.port = port
        self._numbers = count(1)
        self._template: str | None = None

    def url(self, database: str) -> str:
        return f"postgresql://odyssey@127.0.0.1:{self.port}/{database}"

    def new_database(self, *, is_empty: bool = False) -> str:
        """The URL of a database that nobody has used, with its tables unless it `is_empty`."""
        name = f"test_{next(self._numbers)}"
        template = "template1" if is_empty else self._migrated()
        with self.connect("postgres") as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Each takes ten megabytes."""
        with self.connect("postgres") as connection:
            connection.execute(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")

    def _migrated(self) -> str:
        """A database that is only copied: running all steps takes three times as long."""
        if self._template is None:
            url = self.new_database(is_empty=True)
            store = PostgresStore(url)
            with closing(store.connect(read_only=False)) as connection:
                store.migrate(connection)
            self._template = url.rpartition("/")[2]
        return self._template

    def connect(self, database: str) -> Any:
        import psycopg

        return psycopg.connect(self.url(database), autocommit=True)


def _as_somebody() -> dict[str, Any]:
    """Postgres refuses to run as root, so root runs it as somebody who owns nothing else."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    pytest.skip("root cannot run Postgres, and there is no user `postgres` or `nobody` to run it as")


def _in_memory() -> Path | None:
    """A database is hundreds of files, and tests make hundreds of databases: a disk takes seconds to forget
    them."""
    shared = Path("/dev/shm")
    has_room = shared.is_dir() and shutil.disk_usage(shared).free > ROOM_BYTES
    return shared if has_room and os.access(shared, os.W_OK) else None


@contextmanager
def cluster() -> Iterator[Cluster]:
    bin = binaries()
    if bin is None:
        pytest.skip("no Postgres here (Debian: apt-get install postgresql)")
    somebody = _as_somebody()
    # Not below pytest's own directory, which only the user who runs the tests may enter.
    directory = tempfile.mkdtemp(prefix="odyssey-postgres-", dir=_in_memory())
    try:
        if somebody:
            os.chown(directory, somebody["user"], somebody["group"])
        data = f"{directory}/data"
        quiet: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "cwd": directory}
        made = subprocess.run(
            [bin / "initdb", "-D", data, "-U", "odyssey", "-A", "trust", "-E", "UTF8", "--no-sync"],
            **quiet, **somebody,
        )  # fmt: skip
        assert made.returncode == 0, made.stdout.decode()
        with _running(bin, data, quiet | somebody) as started:
            yield started
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _running(bin: Path, data: str, options: dict[str, Any]) -> Iterator[Cluster]:
    found = Cluster(free_port())
    flags = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
    with open(f"{Path(data).parent}/log", "wb") as log:
        command = [bin / "postgres", "-D", data, "-p", str(found.port), *flags]
        process = subprocess.Popen(command, **(options | {"stdout": log}))
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not _answers(found):
            assert process.poll() is None, Path(log.name).read_text()
            assert time.monotonic() < deadline, "Postgres does not come up"
            time.sleep(0.05)
        yield found
    finally:
        process.send_signal(signal.SIGQUIT)
        process.wait(PATIENCE_S)


def _answers(found: Cluster) -> bool:
    import psycopg

    try:
        found.connect("postgres").close()
    except psycopg.OperationalError:
        return False
    return True
