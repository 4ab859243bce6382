"""What an attack is called, and what it may cost the server."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hostile.tenant import Tenant

Attack = Callable[[Tenant], None]
MOST_GROWTH_MB = 400  # of the server's processes, by inputs of up to 8 MiB
MOST_GROWTH_BY_UPLOAD_MB = 1_200  # by uploads of up to 64 MiB, a dozen bytes a value and a process to read it


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    name: str
    attack: Attack
    growth_mb: int = MOST_GROWTH_MB
    seconds: float = 0.6  # in the bounded form; what is under way then is waited for
    runs_code: bool = False


KINDS: dict[str, Kind] = {}


def kind(name: str, **more: Any) -> Callable[[Attack], Attack]:
    """Names an attack; `more` are the other fields of its Kind."""

    def named(attack: Attack) -> Attack:
        KINDS[name] = Kind(name=name, attack=attack, **more)
        return attack

    return named
