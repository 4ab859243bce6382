"""A program of somebody else's that is kept running and talked to over its input and output."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    argv: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)  # with secrets among them


class CannotStart(Exception):
    """The program does not run; the message says why, and may hold what it printed."""


class Pipes(Protocol):
    """A program that runs."""

    async def read(self) -> bytes:
        """Some of what it prints; nothing once it has closed its output."""

    async def write(self, data: bytes) -> None:
        """Raises OSError once it does not read any more."""

    async def why(self) -> str:
        """How it ended and what it said then, in words for people."""


#: Raises CannotStart. The program ends with the context.
OpenPipes: TypeAlias = Callable[[Command], AbstractAsyncContextManager[Pipes]]
