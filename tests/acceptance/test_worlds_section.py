"""Synthetic generation as the product's page describes it: each of its sentences, and the tests that hold it.

A sentence that loses its test fails here. They are told in our own words, in the order of the page.
"""

import ast
from functools import cache

import pytest

from support.repository import TESTS

API, ROWS = "server/api/test_seed_sessions_api.py", "core/worlds/test_world_rows.py"
WORLD, REFINE = "core/worlds/test_make_world.py", "core/worlds/test_refine.py"
MODEL, PAGES = "engine/worlds/test_model_author.py", "server/pages/test_worlds.py"
API_ROWS = "server/api/test_seed_session_rows.py"
ONE_WORLD = (
    f"{API}::test_a_finalized_session_is_a_dataset_over_one_world_that_uploads_again_to_the_same_seeds"
)
WAITS = f"{API}::test_a_new_session_waits_with_its_world_for_review"
FLOW = f"{PAGES}::test_the_whole_flow_works_without_scripts"

SENTENCES: dict[str, tuple[str, ...]] = {
    "rows written by hand carry each their own state": (
        f"{API_ROWS}::test_rows_by_hand_keep_their_own_states_beside_a_generated_dataset",
    ),
    "a generated session has one shared world, not one for each row": (
        f"{API_ROWS}::test_rows_have_no_state_of_their_own_and_tasks_have_the_one_world",
        f"{API}::test_the_world_of_a_session_is_stored_once",
    ),
    "one backend, many records, many scenarios against it": (
        f"{API}::test_rows_are_made_bucket_by_bucket_each_with_its_proof",
        "acceptance/test_worlds_story.py::"
        "test_the_reference_calls_pass_every_row_and_doing_nothing_passes_none",
    ),
    "the world is the domain's data; buckets are different asks of it": (
        f"{ROWS}::test_a_theme_steers_by_the_words_of_tools_things_and_outcomes",
        f"{API}::test_buckets_are_dropped_and_made_anew",
    ),
    "the world is made once, rich and varied: many of each type, all enum values, owners, ages": (
        f"{WORLD}::test_every_enum_value_is_used_and_owners_are_spread",
        f"{WORLD}::test_times_of_a_record_are_in_causal_order",
        "core/worlds/test_world_advisories.py::test_a_made_world_has_none",
    ),
    "it is grounded in the agent's tools and ledger schema": (
        f"{WORLD}::test_a_made_world_is_one_that_an_upload_takes",
        f"{WORLD}::test_without_a_ledger_schema_the_types_are_those_that_the_tools_speak_of",
        f"{MODEL}::test_a_model_makes_the_world_and_it_is_reviewed_like_any_other",
    ),
    "request, failure rules and expected outcome are made for each row, grounded in the world": (
        f"{API_ROWS}::test_rows_have_no_state_of_their_own_and_tasks_have_the_one_world",
        f"{ROWS}::test_rows_cover_what_coverage_counts",
        f"{MODEL}::test_every_row_is_proved_and_gets_its_oracle_from_what_its_calls_did",
    ),
    "there is a review before any row is made": (WAITS,),
    "1. the generator makes the world and pauses; it is shown grouped and read-only": (WAITS, FLOW),
    "1. sizes are compact, standard (the default) and rich, chosen with the first action": (
        f"{WORLD}::test_a_size_is_so_many_entities_of_each_type",
        "core/tasks/test_seed_session.py::test_the_least_gets_sensible_defaults_and_says_that_its_buckets_were_chosen",
    ),
    "1. advisories, such as an enum of which one value is used, are shown there": (
        "core/worlds/test_world_advisories.py::test_it_is_found_where_it_is_and_mended_by_its_own_sentence",
        f"{API_ROWS}::test_every_fix_of_an_advisory_is_a_refinement_that_is_understood",
    ),
    "2. a sentence edits the world": (
        f"{REFINE}::test_what_is_added_is_as_asked_and_whole",
        f"{API_ROWS}::test_a_refinement_changes_what_it_names_and_nothing_else",
        f"{MODEL}::test_what_no_embedded_sentence_says_is_asked_of_the_model_and_all_else_stays",
    ),
    "2. or it is made anew": (f"{API}::test_regenerating_makes_another_world_and_a_seed_says_which",),
    "2. or one is pasted, held against tools and ledger schema": (
        f"{API}::test_a_pasted_world_is_held_against_the_ledger_schema",
        "core/worlds/test_check_pasted.py::test_the_world_of_another_agent_is_told",
    ),
    "2. there is no editing of cells": (
        f"{API_ROWS}::test_a_world_is_changed_by_words_or_whole_and_never_cell_by_cell",
    ),
    "3. going on freezes the world and starts the rows of each bucket": (
        f"{API}::test_continue_twice_freezes_once",
        f"{API}::test_a_frozen_world_is_not_changed",
        f"{API}::test_rows_are_made_bucket_by_bucket_each_with_its_proof",
    ),
    "3. the frozen world stands read-only beside the rows, which have no state column": (
        FLOW,
        f"{API_ROWS}::test_rows_have_no_state_of_their_own_and_tasks_have_the_one_world",
    ),
    "4. every task gets a copy of the frozen world": (ONE_WORLD,),
    "at run time nothing is different: each task has its own initial state": (
        ONE_WORLD,
        "acceptance/test_worlds_story.py::"
        "test_the_reference_calls_pass_every_row_and_doing_nothing_passes_none",
    ),
    "rows by hand work as before": (
        f"{API_ROWS}::test_rows_by_hand_keep_their_own_states_beside_a_generated_dataset",
    ),
    "another world is another session": (f"{API_ROWS}::test_another_world_is_another_session",),
}
BAD_INPUT: dict[str, tuple[str, ...]] = {
    "tools without any noun": (
        f"{API_ROWS}::test_tools_that_speak_of_nothing_are_refused_and_no_session_is_left",
        "engine/worlds/test_model_author_faults.py::test_a_world_that_no_tool_speaks_of_is_not_stored",
    ),
    "a ledger schema with cycles, 100 types, an enum of 500": (
        f"{API_ROWS}::test_a_ledger_schema_that_is_hard_to_fill_gets_a_world",
        f"{WORLD}::test_a_schema_that_refers_in_a_circle_and_to_itself_is_filled",
        f"{WORLD}::test_a_hundred_types_and_an_enum_of_five_hundred_get_a_world_and_a_note",
    ),
    "a contradictory refinement": (
        f"{API_ROWS}::test_a_refinement_that_cannot_be_followed_changes_nothing_and_says_why",
        f"{REFINE}::test_what_cannot_be_followed_says_why",
        f"{MODEL}::test_a_request_that_the_model_cannot_follow_is_refused_with_its_words",
    ),
    "a pasted world of 20 MB": (f"{API}::test_a_pasted_world_of_20_mb_is_refused_by_its_size",),
    "a pasted world of the wrong types": (
        f"{API}::test_a_pasted_world_of_the_wrong_shape_is_refused_whole",
        f"{API}::test_a_pasted_world_is_held_against_the_ledger_schema",
    ),
    "continue twice": (f"{API}::test_continue_twice_freezes_once",),
    "finalize while rows are made": (
        f"{API}::test_finalize_waits_for_the_rows_and_is_done_once",
        "engine/worlds/test_generate_rows.py::test_while_rows_are_made_there_is_no_dataset_and_nothing_is_dropped",
    ),
    "two people at one session": (
        f"{API}::test_of_two_people_the_second_is_told_that_the_world_has_changed",
        f"{API}::test_of_changes_at_the_same_moment_one_is_made",
    ),
}


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((TESTS / path).read_text())
    found = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in found if node.name.startswith("test_"))


@pytest.mark.parametrize("said", [*SENTENCES, *BAD_INPUT])
def test_what_is_said_is_held_by_tests_that_are_there(said: str) -> None:
    for name in (SENTENCES | BAD_INPUT)[said]:
        path, _, test = name.partition("::")
        assert test in names_in(path), f"{name} is gone: {said}"
