"""All kinds, by name."""

from hostile import batches, plans, responses, schemas, uploads, wire
from hostile.kind import KINDS, Kind

MODULES = (schemas, responses, batches, plans, uploads, wire)
__all__ = ["KINDS", "Kind"]
