"""One run of somebody's code: what goes in and what came of it, as values. Failures are outcomes too."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Literal, NamedTuple

from pipelines.core.agents.reply_limits import MAX_REPLY_BYTES
from pipelines.core.text.json_text import Json, JsonObject

MEBIBYTE = 1024 * 1024
PROCESSES_WITHOUT_CGROUP = 32
FILES_WITHOUT_CGROUP = 128
DEFAULT_FUNCTION = "run"
#: Where `run` is looked for when nobody said: the first of these that was uploaded.
DEFAULT_FILES = ("agent.py", "main.py", "run.py")

Isolation = Literal["bubblewrap", "none"]

_ENTRYPOINT = re.compile(
    r"(?P<file>(?:[A-Za-z_]\w*/)*[A-Za-z_]\w*\.py)(?::(?P<function>[A-Za-z_]\w*))?", re.ASCII
)


class BadEntrypoint(ValueError):
    """The entrypoint is not `file.py:function`."""


class Entrypoint(NamedTuple):
    file: str  # relative to the code's folder, with forward slashes
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.function}"


def parse_entrypoint(text: str) -> Entrypoint:
    """`agent.py` or `pkg/agent.py:run`; raises BadEntrypoint with words for the author."""
    found = _ENTRYPOINT.fullmatch(text)
    if found is None:
        raise BadEntrypoint(
            f"{text[:100]!r} is not an entrypoint: write a Python file and a function, as agent.py:run"
        )
    return Entrypoint(found["file"], found["function"] or DEFAULT_FUNCTION)


def default_entrypoint(files: Iterable[str]) -> Entrypoint | None:
    """What to call in an upload whose author named nothing: `agent.py`, `main.py`, `run.py`, else its only
    Python file at the top; None where that leaves a choice."""
    names = set(files)
    for name in DEFAULT_FILES:
        if name in names:
            return Entrypoint(name, DEFAULT_FUNCTION)
    alone = [name for name in names if "/" not in name and _ENTRYPOINT.fullmatch(name)]
    return Entrypoint(alone[0], DEFAULT_FUNCTION) if len(alone) == 1 else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What one run may use. Memory and sockets are for the run as a whole, the other numbers per process."""

    wall_s: float = 300.0
    memory_bytes: int = 512 * MEBIBYTE
    processes: int = 64  # processes and threads together
    file_bytes: int = 64 * MEBIBYTE  # one file
    disk_bytes: int = 64 * MEBIBYTE  # each of the working folder, /tmp and /dev/shm; they live in memory
    open_files: int = 256
    output_bytes: int = 64 * 1024  # of stdout and stderr each; past this the middle is dropped
    result_bytes: int = MAX_REPLY_BYTES
    connections: int = 32  # open to the proxy at one time; more wait
    #: In all, while no cgroup counts their memory: each can make the kernel hold a quarter of a MiB.
    sockets: int = 256
    open_files_without_cgroup: int = FILES_WITHOUT_CGROUP

    def without_cgroup(self) -> "Limits":
        """Fewer of what the kernel keeps memory for and only looking at it now and then bounds."""
        files = min(self.open_files, self.open_files_without_cgroup)
        return replace(self, processes=min(self.processes, PROCESSES_WITHOUT_CGROUP), open_files=files)


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeJob:
    """Code to call once: `function(task_input, proxy_url=…, run_token=…)`."""

    #: The uploaded code, mounted read-only as `agent/` in the run's working folder. Where the server runs as
    #: root the folder and what is in it must be readable to all (0755, 0644): see `readable_to_all`.
    source_dir: Path
    #: What of the code is called: see `parse_entrypoint` and `default_entrypoint`.
    entrypoint: Entrypoint
    task_input: JsonObject
    run_token: str = field(repr=False)
    #: The proxy's path for this run; the pool puts the address before it, which only the pool knows.
    proxy_path: str
    #: Environment variables: ids of the run, secrets by name. The pool adds the proxy's URL, the token and
    #: the task input under their contract names. They travel over a socket, never in an argument list.
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: More URLs of its door, by the variable that holds one: a path each, as above.
    urls: Mapping[str, str] = field(default_factory=dict)
    #: What `environments.prepare` made of the code's requirements.
    environment: Path | None = None
    limits: Limits = field(default_factory=Limits)
    #: Whether more runs of the same code are to be expected, so that a sandbox is started ahead for them.
    expects_more: bool = True


class CodeErrorKind(StrEnum):
    """Why code gave no result."""

    EXCEPTION = "exception"  # its own, at import or in the call
    TIMEOUT = "timeout"  # not done within wall_s: the whole tree was killed
    KILLED = "killed"  # a signal ended it: a crash in C code, its CPU time, its own doing
    OUT_OF_MEMORY = "out_of_memory"
    TOO_LARGE = "too_large"  # what it returned is over result_bytes
    BAD_RESULT = "bad_result"  # what it returned is neither a string nor an object of JSON values
    EXITED = "exited"  # sys.exit, os._exit
    SANDBOX_FAILED = "sandbox_failed"  # ours: its code was not called, or we lost it


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeError:
    kind: CodeErrorKind
    message: str  # what happened, for the author of the code
    hint: str | None = None  # what to change
    exception: str | None = None  # the type, as `KeyError`
    traceback: str | None = None  # of their frames only, cut in the middle when long

    def as_json(self) -> JsonObject:
        whole: JsonObject = {"kind": self.kind.value, "message": self.message}
        for name in ("hint", "exception", "traceback"):
            value = getattr(self, name)
            whole |= {name: value} if value is not None else {}
        return whole


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeOutcome:
    """What came of a job. Just one of `result` and `error` is there."""

    result: JsonObject | str | None
    error: CodeError | None
    stdout: str
    stderr: str
    duration_ms: float  # from handing over the job to its result
    isolation: Isolation
    was_called: bool  # False: no line of the code has run, so the job may be given again
    was_warm: bool = False  # a waiting sandbox took it


def checked_result(value: Json) -> JsonObject | str | CodeError:
    """What a run may hand back; the words are for its author."""
    if isinstance(value, (dict, str)):
        return value
    given = "nothing" if value is None else f"a {type(value).__name__}"
    return CodeError(
        kind=CodeErrorKind.BAD_RESULT,
        message=f"the function returned {given}",
        hint='return a dict such as {"final_response": "…"}, or a string',
    )
