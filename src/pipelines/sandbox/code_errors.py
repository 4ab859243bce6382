"""How the end of a sandbox reads to the author of the code in it: frames, exit codes and limits to words."""

import re
import signal
from collections.abc import Callable
from typing import Any

from pipelines.core.text.json_text import InvalidJson, Json, loads
from pipelines.sandbox.job import CodeError, CodeErrorKind, Limits, checked_result

MOST_VALUES = 500_000  # of a result: reading more of them would hold up the server
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_LONGEST_TEXT = 20_000
_MEBIBYTE = 1024 * 1024
_SIGNALS = {
    signal.SIGXCPU: "it used up its CPU time",
    signal.SIGSEGV: "a crash in compiled code",
    signal.SIGABRT: "a crash in compiled code",
    signal.SIGSYS: "it made a system call of another processor architecture",
}


def read_frame(
    frame: bytes, limits: Limits, checked: Callable[[Json], Json | CodeError] = checked_result
) -> tuple[Any, CodeError | None]:
    """What the process inside said. It may be lying or babbling, but only about itself. `checked` says which
    values may be a result."""
    try:
        body = loads(frame)
    except InvalidJson:
        return None, _unreadable_result()
    kind = body.get("kind") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(kind, str):
        return None, _unreadable_result()
    if kind == "result":
        return _result(body.get("json"), limits, checked)
    if kind == "too_large":
        size = body.get("size")
        return None, too_large(size if isinstance(size, int) else 0, limits)
    if kind not in (
        CodeErrorKind.EXCEPTION,
        CodeErrorKind.EXITED,
        CodeErrorKind.OUT_OF_MEMORY,
        CodeErrorKind.BAD_RESULT,
    ):
        return None, _unreadable_result()
    return None, _reported_error(CodeErrorKind(kind), body, limits)


def _result(
    text: Json, limits: Limits, checked: Callable[[Json], Json | CodeError]
) -> tuple[Any, CodeError | None]:
    if not isinstance(text, str):
        return None, _unreadable_result()
    if len(text) > limits.result_bytes:
        return None, too_large(len(text), limits)
    if _has_too_many_values(text):
        return None, CodeError(
            kind=CodeErrorKind.BAD_RESULT,
            message=f"what the function returned has more than {MOST_VALUES:,} values",
            hint="return fewer or shorter messages",
        )
    try:
        value = loads(text)
    except InvalidJson as error:
        return None, _bad_result(str(error))
    found = checked(value)
    return (None, found) if isinstance(found, CodeError) else (found, None)


def _has_too_many_values(text: str) -> bool:
    """By its commas and opening brackets; those in strings are only left out where they would decide it."""
    return _separator_count(text) > MOST_VALUES and _separator_count(_STRING.sub("", text)) > MOST_VALUES


def _separator_count(text: str) -> int:
    return sum(map(text.count, ",[{"))


def _reported_error(kind: CodeErrorKind, said: dict[str, Json], limits: Limits) -> CodeError:
    message, name, lines = (_text(said.get(part)) for part in ("message", "exception", "traceback"))
    if kind is CodeErrorKind.BAD_RESULT:
        return _bad_result(message)
    if kind is CodeErrorKind.OUT_OF_MEMORY:
        return out_of_memory(limits, traceback=lines or None)
    if kind is CodeErrorKind.EXITED:
        return CodeError(
            kind=kind,
            message=f"the code called sys.exit({message})",
            hint="return the answer instead of exiting",
            traceback=lines or None,
        )
    return CodeError(
        kind=kind,
        message=message or name or "without a message",
        exception=name or None,
        traceback=lines or None,
    )


def _text(value: Json) -> str:
    return value[:_LONGEST_TEXT].replace("\0", "\ufffd") if isinstance(value, str) else ""


def without_frame(code: int, limits: Limits) -> CodeError:
    """The process ended and had said nothing. A code over 128 is a signal, as shells have it."""
    number = code - 128 if code > 128 else -code
    if number > 0:
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        reason = next((words for given, words in _SIGNALS.items() if given == number), "")
        return CodeError(
            kind=CodeErrorKind.KILLED,
            message=f"the process was ended by {name}" + (f": {reason}" if reason else ""),
        )
    return CodeError(
        kind=CodeErrorKind.EXITED,
        message=f"the process ended with status {code} before the function returned",
        hint="return the answer instead of exiting",
    )


def timed_out(limits: Limits) -> CodeError:
    return CodeError(
        kind=CodeErrorKind.TIMEOUT,
        message=f"the function did not return within {limits.wall_s:g} s; all its processes were ended",
        hint="make it answer sooner, or raise the agent's run_timeout_s (at most 1800)",
    )


def out_of_memory(limits: Limits, traceback: str | None = None) -> CodeError:
    return CodeError(
        kind=CodeErrorKind.OUT_OF_MEMORY,
        message=f"the code needed more than its {limits.memory_bytes // _MEBIBYTE} MiB of memory",
        traceback=traceback,
    )


def too_many_sockets(limits: Limits) -> CodeError:
    return CodeError(
        kind=CodeErrorKind.OUT_OF_MEMORY,
        message=f"the code held more than {limits.sockets} sockets, for which the kernel keeps memory",
        hint="close connections and socket pairs that are not needed any more",
    )


def too_large(size: int, limits: Limits) -> CodeError:
    given = f" ({size // _MEBIBYTE} MiB)" if size >= _MEBIBYTE else ""
    return CodeError(
        kind=CodeErrorKind.TOO_LARGE,
        message=f"what the function returned{given} is over the limit of {limits.result_bytes} bytes",
        hint="return the answer and its messages only",
    )


def sandbox_lost() -> CodeError:
    return CodeError(
        kind=CodeErrorKind.SANDBOX_FAILED,
        message="the sandbox ended while the code ran, because the process that starts sandboxes ended",
    )


def _bad_result(message: str) -> CodeError:
    return CodeError(
        kind=CodeErrorKind.BAD_RESULT,
        message=f"what the function returned cannot be written as JSON: {message}",
        hint='return a dict such as {"final_response": "…"} of plain values, or a string',
    )


def _unreadable_result() -> CodeError:
    return CodeError(
        kind=CodeErrorKind.BAD_RESULT,
        message="the process sent something unreadable instead of a result",
        hint="do not use file handles that the code did not open itself",
    )
