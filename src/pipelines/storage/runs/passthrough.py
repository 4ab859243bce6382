"""How calls of passthrough tools are answered, as batches and runs store it: NULL stands for live."""

from typing import Annotated, TypeAlias

from pipelines.core.tools.live_tools import LIVE
from pipelines.storage.database.records import Stored


def stored_mode(mode: str) -> str | None:
    return mode if mode != LIVE else None


#: One of core.live_tools.PASSTHROUGH_MODES.
PassthroughMode: TypeAlias = Annotated[str, Stored(read=lambda mode: mode or LIVE, write=stored_mode)]
