"""All kinds, by name."""

from hostile import wire
from hostile.kind import KINDS, Kind

MODULES = (wire,)
__all__ = ["KINDS", "Kind"]
