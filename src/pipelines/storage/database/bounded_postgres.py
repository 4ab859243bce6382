"""Connections to Postgres on which every wait ends, also where the network drops packets and refuses nothing.

A link that is dead is found out by the system (keepalives, and data that nobody acknowledges); one that is
held open by something in between, by the time that passes without a byte from the server.
"""

import time
from collections.abc import Callable, Generator
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

#: What a tool call may wait for in a row is a statement that dies (silence, then a probe) and one attempt to
#: connect: with the time to tell about it less than the ten seconds that are promised.
SILENCE_S = 4.0  # without a byte of what was asked for: then a new connection tells slow from gone
PROBE_S = 2  # libpq takes no less
CONNECT_S = 3
STATEMENT_S = 60  # to cancel a batch of 30,000 runs took 2 s on two busy cores
LOCK_S = 5  # another node holds a run for as long as it takes to store a row
ENGINE_SILENCE_S = 15.0  # of the durable engine: nobody waits for it, and it brings its own schema up to date
MIGRATION_S = 600.0  # a new index on a large table; nobody is served before it
IDLE_IN_TRANSACTION_S = 30  # then the server lets go of the locks of a node that it no longer hears
PAUSE_S = 1.0  # how long nobody tries to connect again: those who queue are refused at once, not in turn
LINK = {
    "connect_timeout": CONNECT_S,
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 6_000,  # milliseconds
}
_IN_SESSION = (
    f"SELECT set_config('statement_timeout', '{STATEMENT_S}s', false),"
    f" set_config('lock_timeout', '{LOCK_S}s', false),"
    f" set_config('idle_in_transaction_session_timeout', '{IDLE_IN_TRANSACTION_S}s', false),"
    " set_config('default_transaction_read_only', %s, false)"
)


def link_settings(url: str) -> dict[str, Any]:
    """What the URL does not say itself about connecting and keeping alive."""
    settings = conninfo_to_dict(url)
    return {name: value for name, value in LINK.items() if name not in settings}


def engine_options(url: str) -> dict[str, Any]:
    """For SQLAlchemy, under the durable engine: its connections end their waits like ours."""

    def connect() -> BoundedConnection:
        named = {"application_name": "odyssey_shards"} | link_settings(url)
        connection = BoundedConnection.connect(url, **named)
        connection.silence_s = ENGINE_SILENCE_S
        return connection

    return {"creator": connect}


class Silent(psycopg.OperationalError):
    """The database has not answered in time."""


class Away(psycopg.OperationalError):
    """The database could not be reached a moment ago."""


class BoundedConnection(psycopg.Connection[Any]):
    """Closes itself when the server stays silent: nobody knows what became of what was asked."""

    silence_s: float | None = SILENCE_S  # None: for ever
    is_there: Callable[[], bool] = staticmethod(lambda: False)  # whether the server answers somebody else

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        if self.silence_s is None:
            return super().wait(gen, *arguments, **options)
        try:
            return super().wait(_ending(gen, self.silence_s, self.is_there), *arguments, **options)
        except Silent:
            self.close()
            raise

    def notifies(self, *arguments: Any, **options: Any) -> Any:
        """Who listens waits for as long as nothing happens."""
        self.silence_s = None
        return super().notifies(*arguments, **options)


def _ending(waits: Any, silence_s: float, is_there: Callable[[], bool]) -> Generator[Any, Any, Any]:
    """The same waits, until the socket was not ready for too long. psycopg looks up ten times a second.

    A server that is there and only slow ends what it was asked by itself, after STATEMENT_S.
    """
    try:
        event = next(waits)
        heard_at = time.monotonic()
        while True:
            ready = yield event
            if ready:
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > silence_s:
                if silence_s < STATEMENT_S and is_there():
                    silence_s = STATEMENT_S + PROBE_S
                    continue
                raise Silent(f"nothing came from the database for {silence_s:g} s")
            event = waits.send(ready)
    except StopIteration as ended:
        return ended.value


class Line:
    """How to reach one database, and whether it is worth trying. Shared by the connections to it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._away_until = 0.0

    def connect(self, *, read_only: bool) -> BoundedConnection:
        if time.monotonic() < self._away_until:
            raise Away("the database could not be reached a moment ago")
        try:
            return self._connect(read_only)
        except psycopg.OperationalError:
            self.rest()
            raise

    def rest(self) -> None:
        """Nothing came through: whoever needs a connection now is told so at once."""
        self._away_until = time.monotonic() + PAUSE_S

    def _connect(self, read_only: bool) -> BoundedConnection:
        # Values are put into the statement by the client: then `? IS NULL` needs no declared type, and a
        # multi-row insert is one round trip with nothing to prepare.
        connection = BoundedConnection.connect(
            self._url, autocommit=True, cursor_factory=psycopg.ClientCursor, **link_settings(self._url)
        )
        connection.is_there = self._is_there
        try:
            connection.execute(_IN_SESSION, ["on" if read_only else "off"])
        except BaseException:
            connection.close()
            raise
        return connection

    def _is_there(self) -> bool:
        try:
            psycopg.connect(self._url, **(link_settings(self._url) | {"connect_timeout": PROBE_S})).close()
        except psycopg.OperationalError:
            return False
        return True
