"""Limits that no setting changes stand in the reference with the number that the code has."""

import re

import pytest

from pipelines.core.calls import cassette
from pipelines.core.coding import junit, read_scorers, scenario, workspace_seed
from pipelines.core.evals.reviews import review, review_requests
from pipelines.core.evals.scenarios import contract, scenario_file
from pipelines.core.evals.scoring import text_shift
from pipelines.core.evals.telemetry import otlp, spans
from pipelines.core.openapi import document, translate
from pipelines.core.persona import facts, question, values
from pipelines.core.simulation.proposed_plans import backend_data
from pipelines.core.tasks import rubric_lines, seed_session
from pipelines.core.worlds.by_model import change_question, prompt_data, row_question
from pipelines.core.worlds.changes import refine
from pipelines.engine import platform
from pipelines.engine.coding import edit_coding_scenarios, import_scenario
from pipelines.engine.endpoints import verify_cassette
from pipelines.engine.live import cassettes
from pipelines.engine.model_calls import ask_models
from pipelines.engine.reports import compare_runs, report_batch
from pipelines.engine.simulation import propose_plans, read_sentences
from pipelines.engine.worlds import embedded_author, generate_rows
from pipelines.outbound import egress_proxy, fetch_git, model_transport
from pipelines.server.api.evals import telemetry
from pipelines.storage.agents import cassettes as stored_cassettes
from pipelines.storage.lists import finder, run_lists
from support.repository import DOCS

PAGE = (DOCS / "reference" / "settings.md").read_text()
KIB, MIB = 1024, 1024 * 1024
#: Words that a row has, and a number that stands in it.
NUMBERS = {
    "buckets": ("20 buckets, 1,000 rows", (seed_session.MOST_BUCKETS, seed_session.MOST_ROWS)),
    "making": ("making a world", (embedded_author.WORLD_S, embedded_author.ROWS_S)),
    "sessions": ("wait for a model", (generate_rows.ASKING_AT_ONCE, generate_rows.AT_ONCE)),
    "refining": (
        "records added by one",
        (seed_session.LONGEST_PROMPT, refine.MOST_SENTENCES, refine.MOST_ADDED),
    ),
    "worlds by a model": (
        "changes of one answer",
        (change_question.MOST_CHANGES, row_question.MOST_ROWS, prompt_data.MOST_TOOLS),
    ),
    "scenarios": (
        "files and 4 MiB of them",
        (
            *(edit_coding_scenarios.LARGEST_SCENARIO // MIB, workspace_seed.MOST_FILES),
            *(workspace_seed.MAX_FILES_BYTES // MIB, workspace_seed.MAX_ARCHIVE_BYTES // MIB),
            *(read_scorers.MOST_SCORERS, read_scorers.MOST_TESTS, read_scorers.MOST_PATHS),
        ),
    ),
    "agents": ("the reference of an import", (scenario.LONGEST_AGENT_S, import_scenario.REFERENCE_S)),
    "test reports": ("of a test report", (junit.LARGEST_REPORT // MIB, junit.MOST_CASES)),
    "git": (
        "of code",
        (fetch_git.FETCH_S, fetch_git.MAX_FETCHED_BYTES // MIB, fetch_git.MAX_FILES),
    ),
    "questions": (
        "parts of JSON around",
        (ask_models.LONGEST_ANSWER // KIB, model_transport.MOST_BYTES // MIB, model_transport.MOST_PARTS),
    ),
    "judge asks": ("held for their judge", (platform.JUDGE_ASKS, platform.JUDGE_ASK_GUESTS)),
    "rubrics": ("of a rubric", (rubric_lines.MOST_LINES, rubric_lines.LONGEST_LINE)),
    "personas": (
        "of the other side",
        (facts.MOST_FACTS, facts.LONGEST_FACT, question.LONGEST_MESSAGE, values.LONGEST_READ),
    ),
    "proposals": (
        "texts at once",
        (propose_plans.MOST_TOOLS, backend_data.MOST_TOOLS_A_TURN, read_sentences.MOST_TEXTS),
    ),
    "cassettes": (
        "lines of 3 MiB",
        (stored_cassettes.MAX_CALLS, stored_cassettes.MAX_BYTES // MIB, cassette.MAX_LINE_BYTES // MIB),
    ),
    "misses": (
        "one comparison at a time",
        (cassettes._MOST_COMPARED, cassettes._CHARACTERS_COMPARED // KIB),
    ),
    "verifying": ("verifying", (verify_cassette.MOST_ASKED, verify_cassette.LONGEST_S)),
    "reviews": (
        "items at once",
        (review_requests.MOST_NOTE, review_requests.MOST_AT_ONCE, review.MOST_REVIEWERS, review.LEASE_S / 60),
    ),
    "comparing": ("calls of each run", (compare_runs.MOST_CALLS,)),
    "reports": ("steps of each", (report_batch.MOST_LISTED, report_batch.MOST_STEPS, report_batch.WRITING_S)),
    "expectations": ("expectations of", (contract.MOST_LEAVES, scenario_file.MOST_SCENARIOS)),
    "compared texts": ("texts are compared", (text_shift.LONGEST_READ, text_shift.MOST_SENTENCES)),
    "telemetry": (
        "kept of a span",
        (telemetry.MOST_SENT // MIB, otlp.MOST_INFLATED // MIB, spans.LARGEST_SPAN // KIB),
    ),
    "documents": (
        "documents of",
        (document.MAX_DOCUMENT_BYTES // MIB, translate.MOST_OPERATIONS),
    ),
    "code endpoints": (
        "to allowed hosts",
        (egress_proxy.MOST_BYTES // MIB, egress_proxy.MOST_CONNECTIONS),
    ),
    "searching": ("words are looked for", (finder.LATEST_RUNS, run_lists.MOST_SEARCHED)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_fixed_limit_is_documented_as_it_is(name: str) -> None:
    words, numbers = NUMBERS[name]
    (row,) = [line for line in PAGE.splitlines() if line.startswith("|") and words in line]
    told = set(re.findall(r"\d+(?:,\d{3})*", row))
    assert {f"{number:,.0f}" for number in numbers} <= told
