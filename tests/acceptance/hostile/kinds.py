"""All kinds by name, in the order of their names."""

from hostile import (
    asked_models,
    batches,
    behaviours,
    cassettes,
    code,
    coding,
    documents,
    endpoints,
    evals,
    exports,
    floods,
    functions,
    large,
    mcp,
    mcp_answers,
    models,
    pages,
    plans,
    responses,
    reviews,
    schemas,
    uploads,
    wire,
    worlds,
)
from hostile.kind import KINDS as DECLARED
from hostile.kind import Kind

MODULES = (
    *(schemas, responses, batches, plans, uploads, large, code, behaviours, floods, wire, evals, mcp),
    *(documents, endpoints, mcp_answers, cassettes, models, pages, worlds, coding, asked_models, reviews),
    *(functions, exports),
)
KINDS: dict[str, Kind] = dict(sorted(DECLARED.items()))
