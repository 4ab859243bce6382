"""The OpenAPI document is made once, however many ask for it at once."""

import asyncio
import json
import re
import subprocess
import sys
from typing import Any

import pytest

from pipelines.server.app import App
from pipelines.server.config.settings import load_settings
from pipelines.server.openapi import Written
from support.loop_lag import MOST_LAG_S, least_lag

#: A generated client's functions are called so: a name here is never given to something else.
OPERATION_IDS = re.findall(r"\w+", """
    abandon_seed_session accept_plans accept_rule accept_rules accept_run act_on_reviews
    add_annotation adopt_draft append_tasks call_endpoint_tool call_tool call_tool_by_jti
    cancel_batch cancel_matrix cancel_run change_agent change_review_settings change_scenario
    change_tool_endpoint check_plans claim_review compare_batches compare_judges compare_matrices
    continue_seed_session correct_oracle create_agent create_coding_scenario create_dataset
    create_eval_run create_key create_matrix create_run create_scenario create_seed_session
    create_sign_in_link create_tool_endpoint create_variation decide_run delete_agent
    delete_cassette delete_coding_scenario delete_credential delete_dataset delete_scenario
    delete_tool_endpoint discover_tool_endpoint dismiss_draft dismiss_sentences download_agent_code
    draft_scenarios drop_seed_bucket drop_seed_row estimate_new_seed_session estimate_runs
    estimate_seed_session export_batch export_cassette export_dataset export_run export_traces
    finalize_seed_session finish_run get_agent get_agent_response_schema get_author_job get_batch
    get_batch_report get_batch_report_contents get_code_mode get_coding_scenario get_dataset
    get_draft get_eval_run get_eval_summary get_exchange get_health get_heatmap
    get_judge_calibration get_matrix get_metrics get_models get_proposed_oracle get_readiness
    get_review get_review_agreement get_review_progress get_review_settings get_row_coverage get_run
    get_run_coding get_run_ledger get_run_output get_run_trace get_run_verdicts get_scenario
    get_seed_session get_session_world get_task get_tool_endpoint get_variation give_review_verdict
    grade_coding_scenario import_cassette import_coding_scenario import_runs ingest_telemetry
    judge_batch judge_run judge_task label_batch learn_plans list_agents list_annotations
    list_batch_judges list_batches list_cassettes list_coding_scenarios list_credentials
    list_dataset_sentences list_datasets list_drafts list_endpoint_tools list_eval_runs list_keys
    list_marks list_matrices list_oracles list_plans list_reviews list_rules list_run_exchanges
    list_run_tools list_run_tools_by_jti list_runs list_scenarios list_seed_rows list_seed_sessions
    list_task_sentences list_tasks list_tool_endpoints list_variations list_world_revisions
    name_dataset_models open_review paste_session_world preview_oracle propose_plans propose_rules
    publish_agent record_event record_event_by_jti refine_session_world regenerate_seed_bucket
    regenerate_seed_row regenerate_session_world reject_rule release_review remove_annotation
    remove_task rename_dataset reopen_review replace_coding_scenario replace_task rescore_batch
    rescore_run resume_batch resume_matrix resume_seed_session revoke_key rewrite_seed_row
    set_credential set_dataset_honesty set_hosts_of_credential speak_mcp speak_mcp_by_jti
    test_connection test_model undo_session_world upload_agent_code verify_cassette watch_batch
    watch_matrix watch_seed_session whoami
""")  # fmt: skip


def each_operation() -> list[tuple[str, str, dict[str, Any]]]:
    document = App(load_settings({})).api.openapi()
    return [
        (method, path, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]


def test_operations_keep_their_names_and_every_one_has_a_name_of_its_own() -> None:
    assert sorted(operation["operationId"] for _, _, operation in each_operation()) == OPERATION_IDS


def test_every_operation_says_what_it_answers_with() -> None:
    """One that is not in `server/document` has FastAPI's empty schema, and is told by it."""
    for method, path, operation in each_operation():
        for status, said in operation["responses"].items():
            content = said.get("content", {})
            assert content or status in ("202", "204"), f"{method} {path} {status}: add it to server/document"
            for kind, shown in content.items():
                assert shown.get("schema"), f"{method} {path} {status} {kind}: add it to server/document"
        assert operation["tags"]
        is_open = not path.startswith(("/api/", "/v1/"))
        assert is_open or operation["security"], f"{method} {path}"


def test_no_schema_is_named_that_is_not_there_and_none_is_there_for_nothing() -> None:
    document = App(load_settings({})).api.openapi()
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert named == document["components"]["schemas"].keys()


def test_no_schema_is_called_as_one_of_its_own_fields() -> None:
    """Generated clients take the field for the class then: `openapi-python-client` did for `Error.error`."""
    for name, schema in App(load_settings({})).api.openapi()["components"]["schemas"].items():
        assert name.lower() not in schema.get("properties", {}), name


def test_the_server_starts_without_what_only_the_document_needs() -> None:
    asked = (
        "import sys; import pipelines.server.app; print('pipelines.server.document.answers' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


@pytest.mark.anyio
async def test_strangers_who_ask_at_once_share_one_document_and_hold_up_nobody() -> None:
    api = App(load_settings({})).api
    make, made = api.openapi, []

    def counted() -> dict[str, object]:
        api.openapi_schema = None  # what FastAPI keeps is kept for us, too
        made.append(1)
        return make()

    api.openapi = counted  # type: ignore[method-assign]

    async def ask() -> tuple[int, list[bytes]]:
        made.clear()
        written = Written(api)
        told = await asyncio.gather(*[written.document() for _ in range(50)], written.page())
        return len(made), told

    (times, told), lag_s = await least_lag(ask)
    assert times == 1
    assert json.loads(told[0])["info"]["title"] == "Odyssey"
    assert set(told[:50]) == {told[0]}
    assert lag_s < MOST_LAG_S
