"""Models that the platform asks, and what they cost, as it is answered."""

from pipelines.core.models.model_question import Failure, Purpose
from pipelines.core.results.run_estimate import RunEstimate
from pipelines.server.document.derived import properties_of
from pipelines.server.document.parts import (
    ID,
    NUMBER,
    OBJECT,
    TEXT,
    WHOLE,
    YES_NO,
    Operation,
    Schemas,
    listed,
    one_of,
    or_null,
    page_of,
    record,
    ref,
    told,
)
from pipelines.storage.runs.model_exchanges import Exchange

_EXCHANGE = properties_of(Exchange)
_AGENT_COST = record(
    "What the agent itself cost, by its metadata.",
    {"cost_usd": or_null(NUMBER)},
    {"tokens": told(or_null(NUMBER), "of a run"), "runs": told(WHOLE, "of a batch: those that told it")},
)
SCHEMAS: Schemas = {
    "Models": record(
        "Which models are asked.",
        {
            "is_installed": told(YES_NO, "what asks them: the extra `models`"),
            "purposes": listed(ref("PurposeModel")),
        },
    ),
    "PurposeModel": record(
        "The model of one purpose.",
        {
            "purpose": one_of(Purpose),
            "model": told(or_null(TEXT), "null: none, and nothing is asked"),
            "named_by": told(or_null(TEXT), "a setting, `agent` or `dataset`"),
            "is_priced": told(or_null(YES_NO), "whether it is known what it costs"),
            "key": told(or_null(TEXT), "the variable, or the credential, that holds its key"),
            "key_from": told(or_null(one_of(("credential", "server"))), "null: it has none"),
            "problem": told(or_null(TEXT), "why it could not be asked"),
        },
    ),
    "ModelTest": record(
        "What came of one tiny question.",
        {
            "ok": YES_NO,
            "model": TEXT,
            "reason": told(or_null(one_of(Failure)), "why there is no answer"),
            "message": or_null(TEXT),
            "took_ms": WHOLE,
            "attempts": or_null(WHOLE),
            "tokens": or_null(WHOLE),
            "cost_usd": or_null(NUMBER),
            "exchange_id": or_null(ID),
        },
    ),
    "ExchangePage": page_of("Exchange", "exchanges"),
    "WholeExchange": record(
        "A question to a model and what came of it.",
        {
            **_EXCHANGE,
            "request": told(or_null(OBJECT), "as it was sent, known secrets masked"),
            "answer": told(or_null(TEXT), "as it came"),
        },
    ),
    "PurposeCost": record(
        "What was asked of models for one purpose.",
        {
            "questions": told(WHOLE, "that were sent, regenerations among them"),
            "replayed": told(WHOLE, "answered before, and not sent again"),
            "requests": told(WHOLE, "retries among them"),
            "tokens": WHOLE,
            "cost_usd": told(or_null(NUMBER), "of those with a price; null: of none it is known"),
            "unpriced": told(WHOLE, "questions of which nobody knows what they cost"),
        },
    ),
    "Costs": record(
        "What it cost, by who was asked. Null: nothing was asked.",
        {
            "agent": _AGENT_COST,
            **{purpose.value: or_null(ref("PurposeCost")) for purpose in Purpose},
            "total_usd": told(or_null(NUMBER), "of what is known"),
        },
    ),
}
RECORDS = (Exchange, RunEstimate)
OPERATIONS = (
    Operation("get_models", "GET", "/api/models", {200: "Models"}),
    Operation("test_model", "POST", "/api/models/test", {200: "ModelTest"}),
    Operation("list_run_exchanges", "GET", "/api/runs/{run_id}/exchanges", {200: "ExchangePage"}),
    Operation("get_exchange", "GET", "/api/model-exchanges/{exchange_id}", {200: "WholeExchange"}),
    Operation("estimate_runs", "GET", "/api/runs/estimate", {200: RunEstimate}),
    Operation("name_dataset_models", "PUT", "/api/datasets/{dataset_id}/models", {200: "Dataset"}),
)
