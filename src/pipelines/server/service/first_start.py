"""Prepares a new data directory: one org and one key, stored where only this user can read it."""

import os
import secrets
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import NamedTuple

from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.platform import timestamp
from pipelines.server.config.settings import Settings
from pipelines.server.service import broken_files, private_files
from pipelines.storage.accounts.keys import KEY_PREFIX, add_key, add_org, first_owner, has_orgs, new_key
from pipelines.storage.accounts.sign_ins import add_link
from pipelines.storage.database.connection import Connection, transaction
from pipelines.storage.database.secret_box import load_or_make_key
from pipelines.wire.names import Role

KEY_FILE = "api-key"
SECRET_FILE = "secret.key"
LINK_LASTS = timedelta(days=1)


class FirstStart(NamedTuple):
    key: str | None  # the new key, when this was the first start
    key_file: Path
    sign_in_code: str | None  # opens the pages once; only where nobody else can reach them


def prepare(settings: Settings) -> FirstStart:
    """Creates the directory, the schema and, at the first start, the org and its key; raises Refused if it
    cannot."""
    try:
        started = _prepare(settings)
    except OSError as error:
        problem = Problem(path=str(error.filename or settings.data_dir), message=error.strerror or str(error))
        raise Refused([problem], "the data directory") from None
    except Exception as error:
        if not settings.store().is_unavailable(error):
            raise
        where = "the database" if settings.is_shared else str(settings.database_path)
        raise Refused([Problem(path=where, message=str(error).strip())], "the database") from None
    secret_file = settings.data_dir / SECRET_FILE
    try:
        load_or_make_key(secret_file, settings.secret_key)
    except ValueError as error:
        raise Refused([Problem(path=str(secret_file), message=str(error))], "the secret key") from None
    return started


def check_schema(settings: Settings) -> None:
    """Raises Refused where a newer version has changed the schema. A database that does not answer is waited
    for by whoever needs it."""
    store = settings.store()
    try:
        connection = store.connect(read_only=False)
    except Exception as error:
        if not store.is_unavailable(error):
            raise
        return
    try:
        store.migrate(connection)
    except Exception as error:
        if not store.is_unavailable(error):
            raise
    finally:
        connection.close()


def _prepare(settings: Settings) -> FirstStart:
    directory = settings.data_dir
    private_files.close_folder(directory)
    ignore = directory / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")  # keys and databases do not belong in anyone's repository
    if not settings.is_shared:
        if not _has_content(settings.database_path):
            _refuse_to_replace(settings)
        broken_files.tell_of_log(settings.database_path)
    store = settings.store()
    connection = store.connect(read_only=False)
    try:
        store.migrate(connection)
        key = None
        with transaction(connection):
            store.take_turns(connection)  # with other nodes that start on a fresh database
            if not has_orgs(connection):
                if not settings.is_shared:
                    _refuse_to_replace(settings)
                key = settings.api_key or _kept_key(directory / KEY_FILE) or new_key()
                now = datetime.now(UTC).isoformat()
                org_id = add_org(connection, "default", now)
                add_key(connection, org_id=org_id, name="first key", role=Role.OWNER, key=key, now=now)
                # Before the commit: a kill in between leaves a file to use, not a key nobody has.
                _write_key(directory / KEY_FILE, key)
            code = _link(connection) if settings.is_private and not settings.is_shared else None
        if not settings.is_shared:
            private_files.close_database(settings.database_path)
    finally:
        connection.close()
    return FirstStart(key, directory / KEY_FILE, code)


def _has_content(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def _refuse_to_replace(settings: Settings) -> None:
    """The queue is made with the first batch: where it is, there was a database, with all that was stored."""
    if not settings.durable_file.exists():
        return
    message = f"is missing or empty, but {settings.durable_file} of an earlier database is there"
    hint = f"restore a backup; to start anew without the old data, delete {settings.durable_file} first"
    raise Refused([Problem(path=str(settings.database_path), message=message, hint=hint)], "the database")


def _kept_key(file: Path) -> str | None:
    """The key of an earlier start, which somebody may have by now."""
    try:
        key = file.read_text("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return key if key.startswith(KEY_PREFIX) and len(key) == len(new_key()) else None  # not one cut short


def _write_key(file: Path, key: str) -> None:
    """A file with another key is kept under another name."""
    if file.exists():
        if file.read_text("utf-8", "replace").strip() == key:
            return
        numbered = (file.with_name(f"{file.name}.old-{number}") for number in count(1))
        file.rename(next(path for path in numbered if not path.exists()))
    _write_private(file, key + "\n")


def _link(connection: Connection) -> str | None:
    """A sign-in link for the owner, who alone can read the output of the server."""
    owner = first_owner(connection)
    if owner is None:
        return None
    code, now = secrets.token_urlsafe(24), datetime.now(UTC)
    add_link(
        connection, token=code, key_id=owner.id, now=timestamp(now), expires_at=timestamp(now + LINK_LASTS)
    )
    return code


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
