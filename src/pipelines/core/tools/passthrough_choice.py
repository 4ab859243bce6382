"""The passthrough options of a run or batch: live, recorded, or replayed."""

import re
from typing import NamedTuple

from pipelines.core.text.authored import Fields, kind
from pipelines.core.tools.live_tools import LIVE, PASSTHROUGH_MODES, RECORD

FIELDS = ("passthrough", "cassette", "overwrite_cassette")
CASSETTE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
NAME_RULE = "letters, digits, `_`, `.` and `-`, beginning with a letter or digit, at most 128"


class Passthrough(NamedTuple):
    mode: str = LIVE
    cassette: str | None = None  # by name; for every mode but live
    overwrites: bool = False  # what was recorded on the cassette before goes


def read_passthrough(fields: Fields) -> Passthrough:
    """The options of a request; problems are added to the fields."""
    mode = fields.choice("passthrough", PASSTHROUGH_MODES, LIVE)
    cassette = fields.text("cassette")
    if cassette is not None and CASSETTE_NAME.fullmatch(cassette) is None:
        fields.refuse("cassette", f"`{cassette[:80]}` is not a valid cassette name: {NAME_RULE}")
    if mode is not None and mode != LIVE and not fields.has("cassette"):
        fields.refuse("cassette", f"`passthrough` `{mode}` needs a `cassette`", "the name of one")
    if mode == LIVE and fields.has("cassette"):
        hint = "give `passthrough` too: `record`, `replay` or `replay_or_live`"
        fields.refuse("cassette", "a `cassette` is not used with `passthrough` `live`", hint)
    overwrites = fields.get("overwrite_cassette")
    if overwrites is not None and not isinstance(overwrites, bool):
        message = f"`overwrite_cassette` must be true or false, not {kind(overwrites)}"
        fields.refuse("overwrite_cassette", message)
    elif overwrites and mode is not None and mode != RECORD:
        fields.refuse("overwrite_cassette", "`overwrite_cassette` is for `passthrough` `record` only")
    return Passthrough(mode or LIVE, cassette, bool(overwrites))
