"""A foreign program that is kept running, with communication over its standard input and output."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol, TypeAlias

_moments = count(1)


class Use:
    """Whether anybody waits for a program: one that nobody waits for may be ended for another's sake."""

    def __init__(self) -> None:
        self._users = 0
        self.ended = next(_moments)  # the last time that somebody was done with it; later ones are larger

    @property
    def is_idle(self) -> bool:
        return not self._users

    @contextmanager
    def lasting(self) -> Iterator[None]:
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self.ended = next(_moments)


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    argv: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)  # with secrets among them
    org_id: int = 0  # whose it is
    use: Use = field(default_factory=Use, repr=False, compare=False)


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
