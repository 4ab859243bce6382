"""Keys, credentials, telemetry and the server itself, as they are answered."""

from pipelines.engine.access.manage_credentials import SetCredential
from pipelines.engine.access.manage_keys import NewApiKey
from pipelines.engine.evals.ingest_spans import Ingested
from pipelines.engine.workspaces.code_mode import CodeModeStatus
from pipelines.server.api.sign_in_links import SignInLink
from pipelines.server.api.whoami import KnownIdentity
from pipelines.server.document.parts import (
    BINARY,
    OBJECT,
    TEXT,
    Content,
    Operation,
    Page,
    Schemas,
    record,
    ref,
    told,
)
from pipelines.server.service.readiness import Health
from pipelines.storage.accounts.credentials import Credential
from pipelines.storage.accounts.keys import ApiKey

SCHEMAS: Schemas = {
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
}
_OTLP: Content = {"application/json": ref("OtlpResponse"), "application/x-protobuf": BINARY}
_INGESTED: Content = {"application/json": Ingested, "application/x-protobuf": BINARY}
OPERATIONS = (
    Operation("create_key", "POST", "/api/keys", {201: NewApiKey}),
    Operation("list_keys", "GET", "/api/keys", {200: Page(ApiKey, "keys")}),
    Operation("revoke_key", "DELETE", "/api/keys/{key_id}", {204: None}),
    Operation("create_sign_in_link", "POST", "/api/sign-in-links", {201: SignInLink}),
    Operation("set_credential", "POST", "/api/credentials", {201: SetCredential}),
    Operation("list_credentials", "GET", "/api/credentials", {200: Page(Credential, "credentials")}),
    Operation("set_hosts_of_credential", "PUT", "/api/credentials/{credential_id}/hosts", {200: Credential}),
    Operation("delete_credential", "DELETE", "/api/credentials/{credential_id}", {204: None}),
    Operation("whoami", "GET", "/api/v1/whoami", {200: KnownIdentity}),
    Operation("export_traces", "POST", "/v1/traces", {200: _OTLP}),
    Operation("ingest_telemetry", "POST", "/api/v1/telemetry/ingest", {200: _INGESTED}),
    Operation("get_health", "GET", "/health", {200: Health}),
    Operation("get_readiness", "GET", "/health/ready", {200: Health}),
    Operation("get_metrics", "GET", "/metrics", {200: {"text/plain": TEXT}}),
    Operation("get_code_mode", "GET", "/api/code-mode", {200: CodeModeStatus}),
    Operation("get_agent_response_schema", "GET", "/schemas/agent-response.json", {200: "JsonSchema"}),
)
