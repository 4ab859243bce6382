"""Cassettes, as they are answered."""

from pipelines.engine.endpoints.verify_cassette import CassetteVerification
from pipelines.server.document.parts import (
    TEXT,
    Operation,
    Page,
)
from pipelines.storage.agents.cassettes import Cassette

OPERATIONS = (
    Operation("list_cassettes", "GET", "/api/cassettes", {200: Page(Cassette, "cassettes")}),
    Operation("export_cassette", "GET", "/api/cassettes/{name}", {200: {"application/x-ndjson": TEXT}}),
    Operation("import_cassette", "PUT", "/api/cassettes/{name}", {200: Cassette}),
    Operation("delete_cassette", "DELETE", "/api/cassettes/{name}", {204: None}),
    Operation("verify_cassette", "POST", "/api/cassettes/{name}/verify", {200: CassetteVerification}),
)
