"""Keys, credentials, telemetry and the server itself, as they are answered."""

from pipelines.server.document.parts import (
    BINARY,
    ID,
    MOMENT,
    OBJECT,
    TEXT,
    WHOLE,
    YES_NO,
    Operation,
    Schemas,
    by_name,
    listed,
    one_of,
    or_null,
    page_of,
    record,
    ref,
    told,
)
from pipelines.wire.names import Role

_KEY = {
    "id": ID,
    "name": TEXT,
    "role": one_of(Role),
    "preview": told(TEXT, "enough to tell it from others"),
    "created_at": MOMENT,
    "revoked_at": or_null(MOMENT),
}
_CREDENTIAL = {"id": ID, "name": TEXT, "created_at": MOMENT, "updated_at": MOMENT}
SCHEMAS: Schemas = {
    "ApiKey": record("A key.", _KEY),
    "ApiKeyPage": page_of("ApiKey", "keys"),
    "NewApiKey": record(
        "A new key.", {**_KEY, "api_key": told(TEXT, "the key itself: shown here and nowhere else")}
    ),
    "Credential": record("A secret of the org, without its value.", _CREDENTIAL),
    "CredentialPage": page_of("Credential", "credentials"),
    "SetCredential": record(
        "A credential that was set.",
        {**_CREDENTIAL, "soft_warnings": told(listed(TEXT), "what of its value is hidden only in part")},
    ),
    "Identity": record(
        "Who is asking.",
        {
            "name": TEXT,
            "role": one_of(Role),
            "org_id": ID,
            "credential": one_of(("key", "token")),
            "issuer": told(or_null(TEXT), "of a token"),
        },
    ),
    "SignInLink": record(
        "Signs a browser in.",
        {"path": told(TEXT, "of this server; good for one sign-in"), "expires_at": MOMENT},
    ),
    "Health": record("The server's sign of life.", {"status": TEXT, "version": TEXT}),
    "CodeMode": record(
        "Whether uploaded code is run here, and how it is isolated.",
        {
            "available": YES_NO,
            "isolation": or_null(TEXT),
            "reason": TEXT,
            "model_gateways": listed(record("A model.", {"name": TEXT, "kind": TEXT})),
        },
        {"limits": TEXT, "workspaces": told(TEXT, "how runs of coding tasks have theirs")},
    ),
    "JsonSchema": told(OBJECT, "a JSON Schema"),
    "OtlpResponse": record(
        "What OTLP answers with.",
        {},
        {
            "partialSuccess": record(
                "What was not taken.", {}, {"rejectedSpans": told(TEXT, "a number"), "errorMessage": TEXT}
            )
        },
    ),
    "Ingested": record(
        "What became of the spans.",
        {
            "received": WHOLE,
            "stored": WHOLE,
            "duplicates": WHOLE,
            "not_skill_spans": WHOLE,
            "rejected": WHOLE,
            "clock_skew": WHOLE,
            "masked": told(by_name(WHOLE), "values that were masked, by kind"),
            "problems": listed(record("Why spans were refused.", {"message": TEXT, "spans": WHOLE})),
        },
    ),
}
_OTLP = {"application/json": ref("OtlpResponse"), "application/x-protobuf": BINARY}
_INGESTED = {"application/json": ref("Ingested"), "application/x-protobuf": BINARY}
OPERATIONS = (
    Operation("create_key", "POST", "/api/keys", {201: "NewApiKey"}),
    Operation("list_keys", "GET", "/api/keys", {200: "ApiKeyPage"}),
    Operation("revoke_key", "DELETE", "/api/keys/{key_id}", {204: None}),
    Operation("create_sign_in_link", "POST", "/api/sign-in-links", {201: "SignInLink"}),
    Operation("set_credential", "POST", "/api/credentials", {201: "SetCredential"}),
    Operation("list_credentials", "GET", "/api/credentials", {200: "CredentialPage"}),
    Operation("delete_credential", "DELETE", "/api/credentials/{credential_id}", {204: None}),
    Operation("whoami", "GET", "/api/v1/whoami", {200: "Identity"}),
    Operation("export_traces", "POST", "/v1/traces", {200: _OTLP}),
    Operation("ingest_telemetry", "POST", "/api/v1/telemetry/ingest", {200: _INGESTED}),
    Operation("get_health", "GET", "/health", {200: "Health"}),
    Operation("get_readiness", "GET", "/health/ready", {200: "Health"}),
    Operation("get_metrics", "GET", "/metrics", {200: {"text/plain": TEXT}}),
    Operation("get_code_mode", "GET", "/api/code-mode", {200: "CodeMode"}),
    Operation("get_agent_response_schema", "GET", "/schemas/agent-response.json", {200: "JsonSchema"}),
)
