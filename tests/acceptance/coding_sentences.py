"""What is said of coding tasks, sentence by sentence, the tests that hold it, and a break that they notice.

In our own words. A break is a text of the source and what stands in its place; `break_coding.py` makes each
of them in a copy of the source and runs the tests named for it, of which at least one must fail.
"""

from typing import NamedTuple


class Said(NamedTuple):
    tests: tuple[str, ...]
    source: str  # below src/pipelines
    text: str  # there, once
    broken: str


FLOW, ROWS = "engine/coding/test_flow.py", "engine/coding/test_coding_rows.py"
CHEATS, SHARED = "engine/coding/test_cheats.py", "engine/coding/test_shared_workspaces.py"
SCENARIO, SCORERS = "core/coding/test_coding_scenario.py", "core/coding/test_coding_scorers.py"
HARBOR, SWEBENCH = "core/coding/test_import_harbor.py", "core/coding/test_import_swebench.py"
COMMANDS, PAGES, STORED = (
    "cli/test_coding_commands.py",
    "server/pages/test_coding.py",
    "storage/tasks/test_coding_stored.py",
)
BOXES, GIT, SETUP = (
    "sandbox/test_workspaces.py",
    "engine/code/test_git_workspaces.py",
    "engine/coding/test_setup_rules.py",
)
IMPORTED = "engine/coding/test_imported_rows.py"

FROM_ITS_FILE = f"{COMMANDS}::test_a_scenario_from_its_file_to_its_end"
OWN_PARTS = f"{ROWS}::test_a_row_of_a_csv_has_its_own_workspace_setup_and_scorers"
REFUSED_ROWS = f"{FLOW}::test_rows_of_coding_tasks_are_refused_with_row_and_column"
SEES = f"{FLOW}::test_an_agent_sees_its_task_and_one_commit_and_nothing_of_its_graders"
EVERY_KIND = f"{FLOW}::test_the_diff_has_every_kind_of_change_and_tells_what_is_ignored"
AGAIN = f"{FLOW}::test_stored_changes_are_scored_again_without_their_agent"
PROVED = f"{COMMANDS}::test_harbor_tasks_are_proved_or_refused_with_the_reason"
TAMPERED = f"{FLOW}::test_what_could_deceive_a_grader_is_put_back_and_goes_to_people"
TRACED = f"{ROWS}::test_what_an_agent_said_and_called_is_in_its_trace_and_in_atif"
KEPT = f"{ROWS}::test_a_task_keeps_the_scenario_that_it_was_made_of"
GATES = f"{SCORERS}::test_required_ones_gate_and_weights_give_the_score"

#: What a user can do.
USERS: dict[str, Said] = {
    "write a scenario as YAML, with a repository and scorers": Said(
        (FROM_ITS_FILE,),
        "cli/coding/scenario_files.py",
        'seed.get("type") == "folder"',
        'seed.get("type") == "directory"',
    ),
    "or by the API, with a setup command": Said(
        (f"{FLOW}::test_scenarios_are_made_listed_changed_and_deleted",),
        "core/coding/scenario_values.py",
        "setup_command: Omitted[str | None] = None",
        "setup_commands: Omitted[str | None] = None",
    ),
    "put scenario_ref and overrides in a CSV": Said(
        (OWN_PARTS,),
        "core/coding/coding_tasks.py",
        'if has_axis(axes, "setup_command"):',
        'if has_axis(axes, "setup_commands"):',
    ),
    "run a code agent over it and see the diff": Said(
        (f"{PAGES}::test_a_run_shows_its_three_results_its_scorers_and_its_change",),
        "engine/judging/rescore.py",
        '"diff": workspace.diff.as_json() if workspace is not None else None,',
        '"diff": None,',
    ),
    "see each scorer's result and output": Said(
        (
            f"{FLOW}::test_a_change_that_passes_its_scorers_passes_and_no_change_fails",
            f"{PAGES}::test_a_run_shows_its_three_results_its_scorers_and_its_change",
        ),
        "core/coding/scorers.py",
        'output: Annotated[str, "of what was run',
        'outputs: Annotated[str, "of what was run',
    ),
    "see the verdict": Said(
        (f"{FLOW}::test_a_change_that_passes_its_scorers_passes_and_no_change_fails",),
        "core/verdict/scorers.py",
        "found = [_finding(result) for result in gating_results(results)]",
        "found = [_finding(result) for result in gating_results(results) if result.passed]",
    ),
    "score stored diffs again with changed scorers": Said(
        (AGAIN,),
        "engine/judging/rescore.py",
        "return replace(copied, scorers=scorers)",
        "return copied",
    ),
    "without running the agent again": Said(
        (AGAIN,),
        "engine/judging/rescore.py",
        "to_score = await _scenario_to_score(platform, org_id, run, scenario, scorers)",
        "workspace = workspace._replace(diff=replace(workspace.diff, patch=''))\n"
        "    to_score = await _scenario_to_score(platform, org_id, run, scenario, scorers)",
    ),
    "import Harbor's folders, each proved: the reference passes": Said(
        (PROVED,),
        "engine/coding/import_scenario.py",
        "def _reference_reasons(grading: Grading, said: str) -> list[str]:\n    if grading.combined.passed:",
        "def _reference_reasons(grading: Grading, said: str) -> list[str]:\n    if True:",
    ),
    "and no change fails": Said(
        (f"{IMPORTED}::test_a_row_that_proves_nothing_is_refused",),
        "engine/coding/import_scenario.py",
        "    if grading.combined.passed is False:\n        return []",
        "    if grading.combined.passed is not None:\n        return []",
    ),
    "import rows of SWE-bench": Said(
        (f"{SWEBENCH}::test_a_row_becomes_a_scenario_at_its_commit",),
        "core/coding/import_swebench.py",
        '"fail_to_pass": [*tests["FAIL_TO_PASS"]],',
        '"fail_to_pass": [],',
    ),
    "see a table of what was refused and why": Said(
        (f"{COMMANDS}::test_rows_are_read_where_their_repositories_are",),
        "cli/coding/import_tasks.py",
        "for reason in each.reasons:",
        "for reason in ():",
    ),
    "the example agent mends two of three, with its CSV": Said(
        ("examples/test_coding_agent.py::test_it_mends_two_of_three",),
        "engine/coding/score_workspace.py",
        "        files = self._scenario.test_files",
        "        files: dict[str, str] = {}",
    ),
}

#: What to build, 1 to 6.
BUILT: dict[str, Said] = {
    "1 scenarios in storage": Said(
        (f"{STORED}::test_a_list_has_no_files_and_a_change_counts_its_version",),
        "storage/tasks/coding.py",
        "version = version + 1",
        "version = version",
    ),
    "1 scenario_ref is a name or an id": Said(
        (f"{STORED}::test_a_scenario_is_found_by_its_name_and_its_id_in_its_own_org_alone",),
        "storage/tasks/coding.py",
        "AND (scenario_id = ? OR name = ?)",
        "AND (name = ? OR name = ?)",
    ),
    "1 of the own org alone": Said(
        (f"{STORED}::test_a_scenario_is_found_by_its_name_and_its_id_in_its_own_org_alone",),
        "storage/tasks/coding.py",
        "FROM coding_scenarios WHERE org_id = ? AND (scen",
        "FROM coding_scenarios WHERE org_id <> ? * 0 AND (scen",
    ),
    "1 in the CLI": Said(
        (FROM_ITS_FILE,), "cli/coding/scenarios.py", "'changed' if name in known", "'changed' if not known"
    ),
    "1 tasks copy them whole": Said(
        (KEPT, f"{SCENARIO}::test_a_task_copies_its_scenario_whole_with_what_its_row_says_otherwise"),
        "core/coding/coding_tasks.py",
        "return replace(seed, coding_scenario=merged.as_json())",
        "return replace(seed, coding_scenario=merged.as_json() | {'scorers': []})",
    ),
    "1 a row's workspace_seed overrides": Said(
        (OWN_PARTS,),
        "core/coding/scenario_values.py",
        "workspace_seed=workspace_seed if workspace_seed is not None else self.workspace_seed,",
        "workspace_seed=self.workspace_seed,",
    ),
    "1 a row's eval overrides": Said(
        (OWN_PARTS,), "core/coding/scenario_values.py", "            scorers = eval\n", "            pass\n"
    ),
    "1 an unknown scenario_ref is refused with row, column and did-you-mean": Said(
        (REFUSED_ROWS,),
        "core/coding/coding_tasks.py",
        "near = did_you_mean(ref.strip(), context.scenarios)",
        "near = None",
    ),
    "1 agents over HTTP are refused": Said(
        (REFUSED_ROWS,), "core/coding/coding_tasks.py", "if context.is_http_agent:", "if False:"
    ),
    "1 when the batch is started, too": Said(
        (f"{FLOW}::test_a_batch_of_coding_tasks_needs_a_code_agent",),
        "engine/batches/open_batch.py",
        "        if task.is_coding",
        "        if False",
    ),
    "1 a bad scorer is refused": Said(
        (REFUSED_ROWS,),
        "core/coding/read_scorers.py",
        'fields.require("type", "one of " + ", ".join(TYPES))',
        "pass",
    ),
    "1 a git URL that is a path is refused": Said(
        (f"{SCENARIO}::test_a_git_url_that_is_a_path_an_option_or_a_secret_is_refused",),
        "core/coding/workspace_seed.py",
        "git_url_complaint(",
        "(lambda *a, **k: None)(",
    ),
    "1 a ref that is an option is refused": Said(
        (f"{SCENARIO}::test_a_ref_that_is_an_option_is_refused",),
        "core/coding/workspace_seed.py",
        "is_git_ref(",
        "bool(",
    ),
    "2 the workspace is a git repository, its history cut to one commit": Said(
        (f"{BOXES}::test_a_seed_with_a_repository_of_its_own_starts_anew",),
        "sandbox/inside/repository.py",
        "        remove(self.git_dir)\n        forget",
        "        forget",
    ),
    "2 remotes are removed": Said(
        (f"{BOXES}::test_a_seed_with_a_repository_of_its_own_starts_anew",),
        "sandbox/inside/repository.py",
        "        remove(self.git_dir)\n        forget",
        "        forget",
    ),
    "2 hooks are off": Said(
        (f"{BOXES}::test_a_seed_with_a_repository_of_its_own_starts_anew",),
        "sandbox/inside/repository.py",
        'self.run("init", "--quiet", "--template=", ',
        'self.run("init", "--quiet", ',
    ),
    "2 nothing that a repository names is run": Said(
        (f"{BOXES}::test_nothing_that_a_repository_names_is_run_when_its_changes_are_told",),
        "sandbox/inside/workspace.py",
        'pristine = repository.Repository(f"{place}/.git", WORKSPACE)',
        "pristine = own_repository()",
    ),
    "2 setup has its own time": Said(
        (f"{SETUP}::test_it_is_ended_at_its_time_with_what_it_printed",),
        "engine/workspaces/prepare_workspace.py",
        "timeout_s=float(scenario.timeouts.setup_s),",
        "timeout_s=30.0,",
    ),
    "2 and its own network rule": Said(
        (f"{SETUP}::test_it_reaches_the_hosts_that_are_named_and_no_other",),
        "engine/workspaces/prepare_workspace.py",
        'EgressProxy(read_allow_hosts(scenario.network, "", []), self._network)',
        'EgressProxy(read_allow_hosts(["*.example"], "", []), self._network)',
    ),
    "2 a baseline is committed after the setup": Said(
        (SEES,),
        "engine/workspaces/prepare_workspace.py",
        "        facts = await box.make_baseline(most_files=self.limits.files)\n        return facts",
        "        return facts",
    ),
    "2 agent/ is read-only": Said(
        (SEES,),
        "sandbox/recipe.py",
        '"--ro-bind", seen["agent"], AGENT_FOLDER',
        '"--bind", seen["agent"], AGENT_FOLDER',
    ),
    "2 workspace/ is writable and the diff has what was written": Said(
        (EVERY_KIND,), "sandbox/inside/workspace.py", "        pristine.stage_all()", "        pass"
    ),
    "2 binary files": Said(
        (EVERY_KIND,), "sandbox/inside/repository.py", '*_PREFIXES, "--binary", ', "*_PREFIXES, "
    ),
    "2 renames": Said(
        (EVERY_KIND,), "sandbox/inside/repository.py", '"--ignore-submodules=none", "-M")', '"--no-renames")'
    ),
    "2 modes": Said(
        (EVERY_KIND,), "core/coding/diff.py", "        new_mode=new_mode,", '        new_mode="100755",'
    ),
    "2 deletions": Said((EVERY_KIND,), "core/coding/diff.py", '"D": "deleted"', '"D": "modified"'),
    "2 ignored files are reported": Said(
        (EVERY_KIND,), "sandbox/inside/workspace.py", "repo.changes(), repo.ignored()", 'repo.changes(), b""'
    ),
    "2 the diff has a cap": Said(
        (f"{ROWS}::test_a_change_over_the_limit_is_cut_and_fails",),
        "server/service/sandboxes.py",
        "diff_bytes=settings.workspace_diff_kb * 1024,",
        "diff_bytes=64 * 1024 * 1024,",
    ),
    "2 and is kept on the run": Said(
        (f"{STORED}::test_a_change_is_kept_byte_by_byte_and_its_last_grading_counts",),
        "storage/tasks/coding.py",
        "zlib.compress(diff.patch_bytes)",
        'zlib.compress(b"")',
    ),
    "3 graded on the baseline with the diff applied": Said(
        (f"{FLOW}::test_a_change_that_passes_its_scorers_passes_and_no_change_fails",),
        "sandbox/inside/workspace.py",
        '        repo.apply(base64.b64decode(message["patch"]))',
        "        pass",
    ),
    "3 in a fresh sandbox for each scorer": Said(
        (f"{ROWS}::test_each_scorer_has_a_sandbox_of_its_own",),
        "engine/coding/score_workspace.py",
        "            for one in running:\n                found[one.name] = await self._run(one)",
        "            async with self._box() as box:\n"
        "                self._box = lambda: __import__('contextlib').nullcontext(box)\n"
        "                for one in running:\n"
        "                    found[one.name] = await self._run(one)",
    ),
    "3 test files come from the scenario": Said(
        (f"{BOXES}::test_tests_replace_whatever_stands_in_their_way",),
        "sandbox/inside/workspace.py",
        "            _write(WORKSPACE, path, text)",
        "            pass",
    ),
    "3 and changed ones are put back": Said(
        (TAMPERED,), "engine/coding/score_workspace.py", "paths=restore.paths, settings", "paths=(), settings"
    ),
    "3 another uid": Said(
        (f"{FLOW}::test_graders_are_another_user",),
        "sandbox/recipe.py",
        "return GRADER_UID if self.is_grading else AGENT_UID",
        "return AGENT_UID",
    ),
    "3 no network": Said(
        (f"{ROWS}::test_a_scorer_has_no_network_and_what_it_prints_is_cut",),
        "sandbox/recipe.py",
        '"--unshare-pid", "--unshare-net"),',
        '"--unshare-pid"),',
    ),
    "3 leftover processes are impossible": Said(
        (f"{BOXES}::test_what_a_command_leaves_running_is_named_and_gone",),
        "sandbox/inside/commands.py",
        "    remaining = [] if timed_out else _remaining_processes()\n    kill_all()",
        "    remaining = [] if timed_out else _remaining_processes()",
    ),
    "3 rewards are read when all is over, by the host": Said(
        (f"{BOXES}::test_files_are_read_when_all_is_over_and_never_through_a_link",),
        "sandbox/inside/workspace.py",
        "os.O_RDONLY | os.O_NOFOLLOW |",
        "os.O_RDONLY |",
    ),
    "3 output is capped": Said(
        (f"{ROWS}::test_a_scorer_has_no_network_and_what_it_prints_is_cut",),
        "engine/coding/score_workspace.py",
        "output_bytes=MOST_OUTPUT,",
        "output_bytes=1 << 22,",
    ),
    "3 and nothing of the graders is shown to the agent": Said(
        (SEES,),
        "engine/coding/run_workspace.py",
        '"run_id": work.run_id,',
        '"run_id": [one.as_json() for one in scenario.scorers] and "scorers",',
    ),
    "3 scorer: command, by its exit code": Said(
        (f"{SCORERS}::test_a_command_passes_by_its_exit_code",),
        "core/coding/ran_scorer.py",
        "if ran.code != 0:",
        "if False:",
    ),
    "3 scorer: command, by a reward": Said(
        (f"{SCORERS}::test_a_reward_is_a_number_from_0_to_1",),
        "core/coding/ran_scorer.py",
        "if reward >= scorer.pass_at else",
        "if reward > 0 else",
    ),
    "3 scorer: tests": Said(
        (f"{SCORERS}::test_what_must_be_mended_and_what_must_not_break_both_count",),
        "core/coding/junit.py",
        'elif case.outcome != "passed":',
        "elif False:",
    ),
    "3 a session that was cut off is not believed": Said(
        (f"{SCORERS}::test_a_test_session_is_believed_only_if_it_came_to_its_own_end",),
        "core/coding/ran_scorer.py",
        'if not session.get("left"):',
        "if False:",
    ),
    "3 scorer: tests, JUnit is read": Said(
        (f"{SCORERS}::test_junit_is_read_by_the_names_that_people_write",),
        "core/coding/junit.py",
        '_NOT_PASSED = ("failure", "error", "skipped")',
        '_NOT_PASSED = ("error", "skipped")',
    ),
    "3 scorer: allowed_paths": Said(
        (f"{SCORERS}::test_only_allowed_paths_may_change_and_a_rename_is_both_of_its_names",),
        "core/coding/scoring.py",
        "for path in file.paths if not matches(path, scorer.paths)]",
        "for path in file.paths[-1:] if not matches(path, scorer.paths)]",
    ),
    "3 scorer: forbid_paths": Said(
        (f"{SCORERS}::test_forbidden_paths_may_not_change",),
        "core/coding/scoring.py",
        "for path in file.paths if matches(path, scorer.paths)]",
        "for path in () if matches(path, scorer.paths)]",
    ),
    "3 scorer: diff_contains": Said(
        (f"{SCORERS}::test_a_diff_contains",), "core/coding/scoring.py", "if scorer.text in text:", "if text:"
    ),
    "3 scorer: file_equals": Said(
        (f"{SCORERS}::test_a_file_equals_to_the_last_character",),
        "core/coding/scoring.py",
        "if text == scorer.text:",
        "if text.strip() == scorer.text.strip():",
    ),
    "3 scorer: max_diff_lines": Said(
        (f"{SCORERS}::test_lines_are_counted_and_binary_files_have_none_to_count",),
        "core/coding/scoring.py",
        "if diff.lines <= scorer.max else",
        "if diff.lines < scorer.max else",
    ),
    "3 required ones gate the verdict": Said(
        (GATES,), "core/coding/scoring.py", "if result.required] or list(results)", "] or list(results)"
    ),
    "3 weights give a score": Said(
        (GATES,), "core/coding/scoring.py", "result.weight * result.score for", "result.score for"
    ),
    "3 N/A is no pass": Said(
        (f"{SCORERS}::test_what_could_not_be_judged_is_no_pass_and_counts_as_nothing",),
        "core/coding/scoring.py",
        "    if open_ones:",
        "    if False:",
    ),
    "4 packages of a scenario are there for scorers, read-only, installed once": Said(
        (f"{ROWS}::test_packages_of_a_scenario_are_installed_once_and_nobody_can_change_them",),
        "sandbox/recipe.py",
        '["--ro-bind", seen["deps"], DEPENDENCIES]',
        '["--bind", seen["deps"], DEPENDENCIES]',
    ),
    "4 workspaces are shared, copied on write": Said(
        (f"{SHARED}::test_one_run_writes_nothing_to_the_disk_and_the_next_ones_share",),
        "engine/workspaces/prepare_workspace.py",
        "shared=shared / SHARED if shared is not None else None,",
        "shared=None,",
    ),
    "4 bytes of a workspace are limited by a setting": Said(
        (f"{ROWS}::test_limits_of_a_workspace_are_settings_with_their_defaults",),
        "server/service/sandboxes.py",
        "bytes=settings.workspace_mb * MEBIBYTE,",
        "bytes=500 * MEBIBYTE,",
    ),
    "4 and its files": Said(
        (f"{ROWS}::test_a_workspace_of_too_many_files_is_not_made",),
        "server/service/sandboxes.py",
        "files=settings.workspace_files,",
        "files=50_000,",
    ),
    "4 500 MB and 50,000 files": Said(
        (f"{ROWS}::test_limits_of_a_workspace_are_settings_with_their_defaults",),
        "server/config/settings.py",
        "workspace_files: int = _setting(50_000,",
        "workspace_files: int = _setting(5_000,",
    ),
    "5 changed tests are a sign": Said(
        (TAMPERED,), "core/coding/tamper.py", "    if restored:\n", "    if False:\n"
    ),
    "5 names that only graders know are one": Said(
        (f"{SCORERS}::test_names_that_only_graders_know_are_a_sign_in_an_agent_s_words",),
        "core/coding/tamper.py",
        "seen = [path for path in paths if any(path in text for text in whole)]",
        "seen = []",
    ),
    "5 a fetched history is one": Said(
        (f"{BOXES}::test_a_history_that_was_fetched_is_told",),
        "sandbox/inside/repository.py",
        'if "[remote" in file.read(1 << 20):',
        "if False:",
    ),
    "5 signs go to the review queue": Said(
        (TAMPERED,),
        "engine/judging/rescore.py",
        "    if signs:\n        await flag_tampering",
        "    if False:\n        await flag_tampering",
    ),
    "5 and make no pass": Said(
        (TAMPERED,),
        "core/verdict/scorers.py",
        'left_open(TAMPERED, PendingReason.NOT_GRADED, " ".join(signs))',
        'held(TAMPERED, " ".join(signs))',
    ),
    "5 there are 25 cheats and more, and none passes": Said(
        (f"{CHEATS}::test_a_cheat_does_not_pass_and_leaves_a_reason",),
        "core/coding/tamper.py",
        "    if restored:\n",
        "    if False:\n",
    ),
    "6 the transcript is in the run, its calls in the trace": Said(
        (TRACED,),
        "core/agents/agent_reply.py",
        'messages=_read_messages(body.get("messages"), warnings),',
        "messages=None,",
    ),
    "6 and in ATIF": Said(
        (TRACED,),
        "core/agents/atif.py",
        "    if row.kind == TOOL_CALL:\n        return _call_step(row)\n",
        "",
    ),
    "speed: nothing is left behind": Said(
        (f"{ROWS}::test_nothing_of_the_runs_is_left_behind",),
        "sandbox/held_folders.py",
        "        shutil.rmtree(folder, ignore_errors=True)",
        "        pass",
    ),
}

#: The contract's own words, where they say more.
CONTRACT: dict[str, Said] = {
    "a scenario is made, read, changed and deleted over HTTP": Said(
        (f"{FLOW}::test_scenarios_are_made_listed_changed_and_deleted",),
        "engine/coding/edit_coding_scenarios.py",
        "    if not await platform.database.write(delete):\n        raise _not_found(ref)",
        "    pass",
    ),
    "workspace_seed: git at a ref": Said(
        (f"{GIT}::test_a_branch_a_tag_and_a_commit_are_fetched_and_their_history_is_not",),
        "engine/workspaces/prepare_workspace.py",
        "await self._git.commit_of(seed.url, seed.ref)",
        'await self._git.commit_of(seed.url, "main")',
    ),
    "workspace_seed: archive, files, empty": Said(
        (
            f"{SCENARIO}::test_what_is_read_is_written_and_read_again_the_same",
            f"{SCENARIO}::test_a_workspace_starts_from",
            f"{SCENARIO}::test_the_least_scenario_starts_from_nothing",
        ),
        "core/coding/workspace_seed.py",
        "            return _read_archive(fields)",
        "            return EmptySeed()",
    ),
    "setup_instructions are for the agent": Said(
        (f"{ROWS}::test_an_agent_is_told_its_setup_instructions_and_has_its_variables",),
        "engine/coding/run_workspace.py",
        '"setup_instructions": scenario.setup_instructions,',
        '"setup_instructions": None,',
    ),
    "env_vars": Said(
        (f"{ROWS}::test_an_agent_is_told_its_setup_instructions_and_has_its_variables",),
        "engine/coding/run_workspace.py",
        'for name in (*scenario.env_vars, "PATH")',
        'for name in ("PATH",)',
    ),
    "timeouts": Said(
        (f"{ROWS}::test_an_agent_s_time_is_shortened_and_what_it_did_is_graded",),
        "engine/coding/run_workspace.py",
        "wall_s = min(wall_s, float(scenario.timeouts.agent_s))",
        "pass",
    ),
    "PIPELINES_TASK_FILE and PIPELINES_WORKSPACE": Said(
        (SEES,), "engine/coding/run_workspace.py", "ENV_TASK_FILE: TASK_FILE, ", ""
    ),
    "the tests come only when a change is graded": Said(
        (SEES,),
        "sandbox/recipe.py",
        '(("/tests", "/logs") if room.is_grading else ())',
        '("/tests", "/logs")',
    ),
    "three results: run, scorers, verdict": Said(
        (f"{FLOW}::test_what_an_agent_did_before_it_failed_is_there_and_graded",),
        "engine/coding/run_workspace.py",
        "    if isinstance(collected, _AgentChanges):\n        texts",
        "    if isinstance(collected, _AgentChanges) and outcome.error is None:\n        texts",
    ),
    "timeout_s is 1 to 3600": Said(
        (f"{SCENARIO}::test_everything_wrong_is_told_at_once",),
        "core/coding/read_scorers.py",
        "least=1, most=LONGEST_TIMEOUT_S)",
        "least=-10**9, most=10**9)",
    ),
    "and 900 by default": Said(
        (f"{PAGES}::test_a_scenario_names_what_only_grading_brings",),
        "core/coding/scorers.py",
        "DEFAULT_TIMEOUT_S, LONGEST_TIMEOUT_S = 900, 3_600",
        "DEFAULT_TIMEOUT_S, LONGEST_TIMEOUT_S = 600, 3_600",
    ),
    "fail_to_pass and pass_to_pass must both pass": Said(
        (f"{SCORERS}::test_what_must_be_mended_and_what_must_not_break_both_count",),
        "core/coding/scorers.py",
        "return (*self.fail_to_pass, *self.pass_to_pass)",
        "return self.fail_to_pass",
    ),
    "import: what needs a container image is refused by name": Said(
        (f"{HARBOR}::test_every_line_that_needs_an_image_is_told",),
        "core/coding/dockerfile.py",
        "complaint if words else 'FROM names no image'",
        "'needs an image' if words else 'FROM names no image'",
    ),
}
ALL: dict[str, Said] = {**USERS, **BUILT, **CONTRACT}
