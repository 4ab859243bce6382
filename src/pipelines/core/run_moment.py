"""Where a run stands in its own world: the name its chance is drawn under, and what time it is there."""

import hashlib
from datetime import datetime, timedelta

from pipelines.core.json_text import JsonObject, dumps
from pipelines.core.simulation.simulator import Moment


def seed_name(seed: JsonObject, world_name: str | None) -> str:
    """By content, not by id: the same task uploaded twice draws the same ids and chance. `seed` comes without
    its initial state, which `world_name` stands for."""
    return hashlib.sha256(dumps([seed, world_name])).hexdigest()


def world_name(initial_state: JsonObject) -> str:
    return hashlib.sha256(dumps(initial_state)).hexdigest()


def moment_of_call(seed: str, day: str, started_s: int, calls: int) -> Moment:
    """Each call finds the world's clock a second later than the one before. `day` and the seconds of it are
    when the run began."""
    hour, rest = divmod(started_s + calls, 3600)
    if hour < 24:
        now = f"{day}T{hour:02d}:{rest // 60:02d}:{rest % 60:02d}Z"
    else:
        now = (datetime.fromisoformat(day) + timedelta(seconds=started_s + calls)).isoformat() + "Z"
    return Moment(seed=seed, call_number=calls, now=now)
