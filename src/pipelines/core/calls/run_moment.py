"""The run's own clock and random seed."""

import hashlib
from datetime import datetime, timedelta
from typing import Any

from pipelines.core.simulation.simulator import Moment
from pipelines.core.text.json_text import JsonObject, dumps


def seed_name(seed: JsonObject, world_name: str | None) -> str:
    """By content, not by id: the same task uploaded twice draws the same ids and chance. `seed` comes without
    its initial state, which `world_name` stands for. What time it is in the world changes no draw, whoever
    says it, and neither does what its author calls it. A run under a variation draws as its baseline does."""
    drawn_as = seed.get("drawn_as")
    if isinstance(drawn_as, str):
        return drawn_as
    timeless = {axis: value for axis, value in seed.items() if axis not in ("now", "id")}
    return hashlib.sha256(dumps([timeless, world_name])).hexdigest()


def world_name(initial_state: JsonObject) -> str:
    return hashlib.sha256(dumps(initial_state)).hexdigest()


class MomentOfCall(Moment):
    """The time is written out when a plan asks for it, which most never do. What stands in its place is the
    day on which the run began and the seconds of that day."""

    __slots__ = ()

    @property
    def now(self) -> str:  # a field of the tuple, computed here
        began: Any = self[2]
        day, began_s = began
        # The world's clock advances one second with each call.
        second = began_s + self.call_number
        hour, rest = divmod(second, 3600)
        if hour < 24:
            return f"{day}T{hour:02d}:{rest // 60:02d}:{rest % 60:02d}Z"
        return (datetime.fromisoformat(day) + timedelta(seconds=second)).isoformat() + "Z"


def start_of(moment: datetime) -> tuple[str, int]:
    """The day and the second of the day at which the run began."""
    return moment.date().isoformat(), moment.hour * 3600 + moment.minute * 60 + moment.second
