"""All kinds, by name."""

from hostile import batches, behaviours, code, floods, large, plans, responses, schemas, uploads, wire
from hostile.kind import KINDS, Kind

MODULES = (schemas, responses, batches, plans, uploads, large, code, behaviours, floods, wire)
__all__ = ["KINDS", "Kind"]
