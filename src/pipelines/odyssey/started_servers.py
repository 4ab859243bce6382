"""Where the servers of this user keep their first key, by URL: a command finds it from any folder.

`pipelines up` notes it in a file of the user's own. A key is only ever sent to the URL of its own server.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

MOST_NOTED = 50
_LOOPBACK = {"localhost": "127.0.0.1"}


def notes_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(state) / "pipelines" / "servers.json"


def note_server(url: str, key_file: Path) -> None:
    """The latest last. A place that cannot be written is no reason not to start."""
    file = notes_file()
    kept = {known: path for known, path in _noted(file).items() if Path(path).is_file()}
    kept.pop(_plain(url), None)
    kept[_plain(url)] = str(key_file.resolve())
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = file.with_name(f"{file.name}.{os.getpid()}")
        unfinished.write_text(json.dumps(dict([*kept.items()][-MOST_NOTED:])))
        unfinished.replace(file)


def key_file_of(url: str) -> Path | None:
    """Of the server that was started last at this URL."""
    found = _noted(notes_file()).get(_plain(url))
    return Path(found) if found is not None else None


def _noted(file: Path) -> dict[str, str]:
    with suppress(OSError, ValueError):
        noted = json.loads(file.read_text())
        if isinstance(noted, dict):
            return {str(url): str(path) for url, path in noted.items()}
    return {}


def _plain(url: str) -> str:
    """Scheme, host and port; `localhost` is the address that a server announces."""
    with suppress(ValueError):
        parts = urlsplit(url)
        host = parts.hostname or ""
        return f"{parts.scheme}://{_LOOPBACK.get(host, host)}:{parts.port}"
    return url
