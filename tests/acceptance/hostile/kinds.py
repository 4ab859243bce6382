"""All kinds by name, in the order of their names."""

from hostile import (
    batches,
    behaviours,
    cassettes,
    code,
    documents,
    endpoints,
    evals,
    floods,
    large,
    mcp,
    mcp_answers,
    models,
    pages,
    plans,
    responses,
    schemas,
    uploads,
    wire,
)
from hostile.kind import KINDS as DECLARED
from hostile.kind import Kind

MODULES = (
    *(schemas, responses, batches, plans, uploads, large, code, behaviours, floods, wire, evals, mcp),
    *(documents, endpoints, mcp_answers, cassettes, models, pages),
)
KINDS: dict[str, Kind] = dict(sorted(DECLARED.items()))
