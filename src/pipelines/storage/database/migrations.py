"""The schema as a list of steps. A step that has shipped is never edited: a change is a new step.

Written for SQLite; `postgres_store` turns the types, and `text_hash`, into its own.
"""

import hashlib
import re
from collections.abc import Collection

from pipelines import __version__
from pipelines.core.text.problems import Problem, Refused

MIGRATIONS: tuple[tuple[str, str], ...] = (
    (
        "0001_start",
        """
        CREATE TABLE orgs (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            created_at TEXT NOT NULL
        );
        CREATE TABLE api_keys (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            name TEXT NOT NULL,
            role TEXT NOT NULL,
            key_hash TEXT NOT NULL UNIQUE,
            preview TEXT NOT NULL,
            created_at TEXT NOT NULL,
            revoked_at TEXT
        );
        CREATE TABLE agents (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            name TEXT NOT NULL,
            version INTEGER NOT NULL,
            status TEXT NOT NULL,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL,
            deleted_at TEXT
        );
        CREATE INDEX agents_of_org ON agents (org_id, id);
        CREATE TABLE agent_versions (
            agent_id INTEGER NOT NULL REFERENCES agents (id),
            version INTEGER NOT NULL,
            definition TEXT NOT NULL,
            auth_header_value BLOB,
            created_at TEXT NOT NULL,
            PRIMARY KEY (agent_id, version)
        );
        CREATE TABLE datasets (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            name TEXT NOT NULL,
            agent_id INTEGER REFERENCES agents (id),
            created_at TEXT NOT NULL
        );
        CREATE INDEX datasets_of_org ON datasets (org_id, id);
        -- A world is kept once however many tasks and runs start from it; its name is its content.
        CREATE TABLE worlds (
            hash TEXT PRIMARY KEY,
            state TEXT NOT NULL
        );
        CREATE TABLE tasks (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            dataset_id INTEGER NOT NULL REFERENCES datasets (id),
            row_number INTEGER NOT NULL,
            seed TEXT NOT NULL,
            world_hash TEXT REFERENCES worlds (hash),
            created_at TEXT NOT NULL,
            UNIQUE (dataset_id, row_number)
        );
        CREATE TABLE batches (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            agent_id INTEGER NOT NULL REFERENCES agents (id),
            agent_version INTEGER NOT NULL,
            dataset_id INTEGER REFERENCES datasets (id),
            repeats INTEGER NOT NULL,
            concurrency INTEGER NOT NULL,
            status TEXT NOT NULL,
            created_at TEXT NOT NULL,
            ended_at TEXT,
            unqueued_since TEXT
        );
        CREATE INDEX batches_of_org ON batches (org_id, id);
        CREATE TABLE runs (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            batch_id INTEGER REFERENCES batches (id),
            repeat_number INTEGER NOT NULL DEFAULT 1,
            retried INTEGER NOT NULL DEFAULT 0,
            agent_id INTEGER NOT NULL REFERENCES agents (id),
            agent_version INTEGER NOT NULL,
            task_id INTEGER NOT NULL REFERENCES tasks (id),
            dataset_id INTEGER NOT NULL REFERENCES datasets (id),
            mode TEXT NOT NULL,
            status TEXT NOT NULL,
            jti TEXT NOT NULL UNIQUE,
            token_hash TEXT NOT NULL UNIQUE,
            seed TEXT NOT NULL,
            world_hash TEXT REFERENCES worlds (hash),
            simulated_now TEXT NOT NULL,
            final_response TEXT,
            messages TEXT,
            metadata TEXT,
            error_class TEXT,
            error_json TEXT,
            soft_warnings TEXT NOT NULL DEFAULT '[]',
            verdict TEXT,
            failure_mode TEXT,
            judgement TEXT,
            judge_error TEXT,
            created_at TEXT NOT NULL,
            started_at TEXT,
            claimed_by TEXT,
            dispatched_at TEXT,
            ended_at TEXT,
            expires_at TEXT NOT NULL
        );
        CREATE INDEX runs_of_org ON runs (org_id, id);
        CREATE INDEX runs_of_agent ON runs (agent_id, id);
        CREATE INDEX runs_of_dataset ON runs (dataset_id, id);
        CREATE INDEX runs_of_task ON runs (task_id, id);
        CREATE INDEX runs_of_batch ON runs (batch_id, id);
        -- Small however many runs there are: what workers ask for again and again.
        CREATE INDEX runs_unfinished ON runs (batch_id, id) WHERE status IN ('pending', 'running');
        CREATE INDEX runs_under_way ON runs (claimed_by) WHERE status = 'running';
        -- Holds all that is counted while someone watches a batch: the rows themselves are wide.
        CREATE INDEX runs_counted ON runs (batch_id, retried, status, verdict, task_id);
        CREATE TABLE workers (
            id TEXT PRIMARY KEY,
            seen_at TEXT NOT NULL
        );
        -- Rows are appended in the order they arrive, whatever run they belong to: a table clustered by
        -- (run, sequence) would touch a page per run in every commit. The index refuses a double.
        CREATE TABLE trace_rows (
            run_id INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            kind TEXT NOT NULL,
            tool_name TEXT,
            source TEXT,
            http_status INTEGER,
            error_code TEXT,
            matched_rule_index INTEGER,
            latency_ms REAL,
            actor_id TEXT,
            idempotency_key TEXT,
            occurred_at TEXT NOT NULL,
            arguments TEXT,
            response TEXT,
            updates TEXT,
            validation TEXT,
            payload TEXT
        );
        CREATE UNIQUE INDEX trace_rows_in_order ON trace_rows (run_id, sequence);
        """,
    ),
    (
        "0002_code",
        """
        -- Uploaded source, kept once for equal content. Its archive lies in parts: each is one short write,
        -- so that tool calls do not wait for an upload. Only a row here says that all parts are there.
        CREATE TABLE code (
            hash TEXT PRIMARY KEY,
            archive_hash TEXT NOT NULL,
            created_at TEXT NOT NULL
        );
        CREATE TABLE code_parts (
            archive_hash TEXT NOT NULL,
            number INTEGER NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (archive_hash, number)
        );
        CREATE TABLE credentials (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            name TEXT NOT NULL,
            sealed_value BLOB NOT NULL,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL,
            UNIQUE (org_id, name)
        );
        -- What a code agent printed. Apart from runs, whose rows are read by the page.
        CREATE TABLE run_output (
            run_id INTEGER NOT NULL UNIQUE REFERENCES runs (id),
            stdout TEXT NOT NULL,
            stderr TEXT NOT NULL
        );
        """,
    ),
    (
        "0003_review",
        """
        -- What waits for a person is found however many runs were decided since.
        CREATE INDEX runs_to_review ON runs (org_id, id)
            WHERE (COALESCE(verdict, '') = 'PENDING' OR judge_error IS NOT NULL) AND retried = 0;
        """,
    ),
    (
        "0004_calls",
        """
        -- Which call of its run a row is, among those that the failure rules counted, and whether its reply
        -- passed its check. Rows from before are numbered as they were counted then.
        ALTER TABLE trace_rows ADD COLUMN call_number INTEGER;
        ALTER TABLE trace_rows ADD COLUMN is_valid INTEGER;
        UPDATE trace_rows SET call_number = counted.number FROM (
            SELECT run_id, sequence, ROW_NUMBER() OVER (PARTITION BY run_id ORDER BY sequence) AS number
            FROM trace_rows WHERE kind = 'tool_call' AND (error_code IS NULL OR error_code NOT IN (
                'actor_id_invalid', 'body_too_large', 'idempotency_key_reused', 'invalid_arguments',
                'invalid_json', 'run_not_active', 'tool_not_declared'))
        ) AS counted
        WHERE counted.run_id = trace_rows.run_id AND counted.sequence = trace_rows.sequence;
        UPDATE trace_rows SET is_valid = CASE WHEN validation LIKE '{"ok":false%' THEN 0 ELSE 1 END
            WHERE validation IS NOT NULL;
        -- A batch may be given another weather: what its random failure rules draw.
        ALTER TABLE runs ADD COLUMN fault_seed BIGINT NOT NULL DEFAULT 0;
        ALTER TABLE batches ADD COLUMN fault_seed TEXT NOT NULL DEFAULT '0';
        """,
    ),
    (
        "0005_texts",
        """
        -- Seeds and worlds are kept once, however many tasks and runs refer to them: a hundred repeats of a
        -- task had a hundred copies of its seed. A name is its content. Each lies in parts, as code does.
        CREATE TABLE texts (
            hash TEXT NOT NULL,
            number INTEGER NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (hash, number)
        );
        -- Texts that no task refers to yet: an upload is storing them, or was cut off. Nothing refers to
        -- `texts` by a foreign key, as removing these would then look through every task and run.
        CREATE TABLE loose_texts (
            hash TEXT PRIMARY KEY,
            since TEXT NOT NULL
        );
        INSERT INTO texts (hash, number, body) SELECT hash, 0, state FROM worlds;
        INSERT INTO texts (hash, number, body) SELECT text_hash(seed), 0, seed FROM tasks WHERE 1 = 1
            ON CONFLICT (hash, number) DO NOTHING;
        -- A run that was given another seed than its task has keeps its own.
        INSERT INTO texts (hash, number, body) SELECT text_hash(runs.seed), 0, runs.seed
            FROM runs JOIN tasks ON tasks.id = runs.task_id WHERE tasks.seed <> runs.seed
            ON CONFLICT (hash, number) DO NOTHING;
        ALTER TABLE tasks ADD COLUMN seed_hash TEXT;
        ALTER TABLE tasks ADD COLUMN world TEXT;
        -- Whether a task plays its user by a model: 0 or 1, and NULL where only the seed itself can tell.
        ALTER TABLE tasks ADD COLUMN needs_model INTEGER;
        UPDATE tasks SET seed_hash = text_hash(seed), world = world_hash,
            needs_model = CASE WHEN seed LIKE '%model_as_user%' THEN NULL ELSE 0 END;
        ALTER TABLE runs ADD COLUMN seed_hash TEXT;
        ALTER TABLE runs ADD COLUMN world TEXT;
        -- Emptied before the column goes: what a dropped column held is otherwise kept by Postgres.
        UPDATE runs SET world = world_hash, seed = '', seed_hash = (
            SELECT CASE WHEN tasks.seed = runs.seed THEN tasks.seed_hash ELSE text_hash(runs.seed) END
            FROM tasks WHERE tasks.id = runs.task_id);
        UPDATE tasks SET seed = '';
        ALTER TABLE tasks DROP COLUMN seed;
        ALTER TABLE tasks DROP COLUMN world_hash;
        ALTER TABLE tasks RENAME COLUMN world TO world_hash;
        ALTER TABLE runs DROP COLUMN seed;
        ALTER TABLE runs DROP COLUMN world_hash;
        ALTER TABLE runs RENAME COLUMN world TO world_hash;
        DROP TABLE worlds;
        -- A batch that is being stored, or discarded, slice by slice is not shown, and neither are its runs.
        CREATE INDEX batches_out_of_sight ON batches (id) WHERE status IN ('opening', 'discarded');
        """,
    ),
    (
        "0006_evals",
        """
        -- 'tasks' is what people upload; 'eval' holds what a matrix asks, and is in no list of datasets.
        ALTER TABLE datasets ADD COLUMN kind TEXT NOT NULL DEFAULT 'tasks';
        -- The numbers are for paging; people and other tables know a scenario or a matrix by its text id.
        CREATE TABLE eval_scenarios (
            id INTEGER PRIMARY KEY,
            scenario_id TEXT NOT NULL UNIQUE,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            version INTEGER NOT NULL,
            name TEXT NOT NULL,
            risk_level TEXT NOT NULL,
            agent_id INTEGER,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL,
            deleted_at TEXT
        );
        CREATE INDEX eval_scenarios_of_org ON eval_scenarios (org_id, id);
        CREATE TABLE eval_scenario_versions (
            scenario_id TEXT NOT NULL,
            version INTEGER NOT NULL,
            body TEXT NOT NULL,
            created_at TEXT NOT NULL,
            PRIMARY KEY (scenario_id, version)
        );
        -- Users' own; the built-in ones are data of the program.
        CREATE TABLE eval_variations (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            variation TEXT NOT NULL,
            version INTEGER NOT NULL,
            body TEXT NOT NULL,
            created_at TEXT NOT NULL,
            UNIQUE (org_id, variation, version)
        );
        -- In sight while its batch is. Until that is stored whole, `stored_at` says when a slice of its tasks
        -- came last, so that one that was cut off is found.
        CREATE TABLE eval_matrices (
            id INTEGER PRIMARY KEY,
            matrix_id TEXT NOT NULL UNIQUE,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            dataset_id INTEGER NOT NULL REFERENCES datasets (id),
            batch_id INTEGER UNIQUE,
            kind TEXT NOT NULL,
            agent_id INTEGER NOT NULL,
            agent_version INTEGER NOT NULL,
            tools_hash TEXT NOT NULL DEFAULT '',
            settings TEXT NOT NULL,
            created_at TEXT NOT NULL,
            stored_at TEXT NOT NULL,
            report_key TEXT
        );
        CREATE INDEX eval_matrices_of_org ON eval_matrices (org_id, id);
        -- The finished report, in parts as texts are. Those under another key than the matrix names are old.
        CREATE TABLE eval_reports (
            matrix_id TEXT NOT NULL,
            report_key TEXT NOT NULL,
            number INTEGER NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (matrix_id, report_key, number)
        );
        CREATE TABLE eval_tasks (
            task_id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL,
            matrix_id TEXT NOT NULL,
            scenario_id TEXT NOT NULL,
            scenario_version INTEGER NOT NULL,
            risk_level TEXT NOT NULL,
            variation TEXT,
            variation_version INTEGER,
            intensity INTEGER,
            wording INTEGER,
            delivery TEXT,
            text_hash TEXT
        );
        CREATE INDEX eval_tasks_of_matrix ON eval_tasks (matrix_id, task_id);
        CREATE INDEX eval_tasks_of_scenario ON eval_tasks (scenario_id, task_id);
        -- What an agent did in an eval run that ended without an error. `shift` and `is_flagged` are known
        -- once there are baselines to compare with: when its matrix has ended.
        CREATE TABLE eval_outcomes (
            run_id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL,
            task_id INTEGER NOT NULL,
            matrix_id TEXT NOT NULL,
            scenario_id TEXT NOT NULL,
            scenario_version INTEGER NOT NULL,
            risk_level TEXT NOT NULL,
            variation TEXT,
            agent_id INTEGER NOT NULL,
            agent_version INTEGER NOT NULL,
            fingerprint TEXT NOT NULL,
            fingerprint_parts TEXT NOT NULL,
            output_class TEXT NOT NULL,
            observed TEXT NOT NULL,
            notes TEXT NOT NULL,
            matched INTEGER NOT NULL,
            match_score REAL NOT NULL,
            shift REAL,
            is_flagged INTEGER NOT NULL DEFAULT 0,
            ended_at TEXT NOT NULL
        );
        CREATE INDEX eval_outcomes_of_matrix ON eval_outcomes (matrix_id, run_id);
        CREATE INDEX eval_outcomes_of_scenario ON eval_outcomes (scenario_id, run_id);
        CREATE INDEX eval_outcomes_of_org ON eval_outcomes (org_id, ended_at);
        """,
    ),
    (
        "0007_reviews",
        """
        -- What a person decided about a run stands beside the machine's verdict, and takes it off the list.
        ALTER TABLE runs ADD COLUMN human_verdict TEXT;
        DROP INDEX runs_to_review;
        CREATE INDEX runs_to_review ON runs (org_id, id)
            WHERE (COALESCE(verdict, '') = 'PENDING' OR judge_error IS NOT NULL) AND retried = 0
            AND human_verdict IS NULL;
        -- Which report of a matrix was looked through for what people have to see.
        ALTER TABLE eval_matrices ADD COLUMN reviewed_key TEXT;
        CREATE INDEX eval_matrices_to_flag ON eval_matrices (id)
            WHERE report_key IS NOT NULL AND COALESCE(reviewed_key, '') <> report_key;
        -- Items of the queue. Runs whose verdict is open are in it without a row here, until somebody claims
        -- or decides one. `revision` counts changes: who changes an item says which one they have seen.
        CREATE TABLE reviews (
            id INTEGER PRIMARY KEY,
            review_id TEXT NOT NULL UNIQUE,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            kind TEXT NOT NULL,
            status TEXT NOT NULL,
            risk_rank INTEGER NOT NULL,
            risk_level TEXT,
            scenario_id TEXT,
            scenario_version INTEGER,
            scenario_name TEXT,
            variation TEXT,
            fingerprint TEXT,
            agent_id INTEGER,
            agent_version INTEGER,
            matrix_id TEXT,
            run_id INTEGER,
            reviewers_wanted INTEGER NOT NULL,
            is_blind INTEGER NOT NULL,
            reasons TEXT NOT NULL,
            evidence TEXT NOT NULL,
            verdict TEXT,
            outcome TEXT,
            revision INTEGER NOT NULL,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL,
            decided_at TEXT
        );
        CREATE UNIQUE INDEX reviews_of_cell ON reviews (org_id, scenario_id, variation, fingerprint)
            WHERE kind = 'shift' AND status <> 'decided';
        CREATE INDEX reviews_in_order ON reviews (org_id, risk_rank, id);
        CREATE INDEX reviews_waiting ON reviews (org_id, risk_rank, id) WHERE status <> 'decided';
        CREATE INDEX reviews_of_scenario ON reviews (org_id, scenario_id, variation);
        CREATE INDEX reviews_of_run ON reviews (org_id, run_id) WHERE risk_rank = 0;
        CREATE TABLE review_verdicts (
            review_id TEXT NOT NULL,
            reviewer TEXT NOT NULL,
            org_id INTEGER NOT NULL,
            verdict TEXT NOT NULL,
            first_verdict TEXT NOT NULL,
            note TEXT NOT NULL,
            labels TEXT NOT NULL,
            asks TEXT NOT NULL,
            given_at TEXT NOT NULL,
            PRIMARY KEY (review_id, reviewer)
        );
        CREATE INDEX review_verdicts_of_org ON review_verdicts (org_id, reviewer, given_at);
        CREATE TABLE review_claims (
            review_id TEXT NOT NULL,
            reviewer TEXT NOT NULL,
            org_id INTEGER NOT NULL,
            claimed_until TEXT NOT NULL,
            PRIMARY KEY (review_id, reviewer)
        );
        CREATE INDEX review_claims_of_org ON review_claims (org_id, reviewer);
        -- Only ever added to.
        CREATE TABLE review_events (
            id INTEGER PRIMARY KEY,
            review_id TEXT NOT NULL,
            occurred_at TEXT NOT NULL,
            reviewer TEXT,
            event TEXT NOT NULL,
            detail TEXT NOT NULL
        );
        CREATE INDEX review_events_of_review ON review_events (review_id, id);
        -- What verdicts did to scenarios: what else a cell may do, what has to be edited, what is kept.
        CREATE TABLE review_marks (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            kind TEXT NOT NULL,
            scenario_id TEXT NOT NULL,
            scenario_version INTEGER NOT NULL,
            variation TEXT,
            body TEXT NOT NULL,
            note TEXT NOT NULL,
            review_id TEXT NOT NULL,
            reviewer TEXT NOT NULL,
            created_at TEXT NOT NULL,
            withdrawn_at TEXT
        );
        CREATE INDEX review_marks_of_scenario ON review_marks (org_id, scenario_id, id)
            WHERE withdrawn_at IS NULL;
        CREATE INDEX review_marks_of_review ON review_marks (review_id);
        CREATE TABLE review_settings (
            org_id INTEGER PRIMARY KEY,
            body TEXT NOT NULL
        );
        """,
    ),
    (
        "0008_telemetry",
        """
        -- What spans say of the process that sent them, once however many come from it. Its ids are what a
        -- device_id is held against.
        CREATE TABLE span_resources (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            hash TEXT NOT NULL,
            device_id TEXT,
            host_id TEXT,
            service_instance_id TEXT,
            agent_id TEXT,
            body TEXT NOT NULL,
            seen_ns INTEGER NOT NULL,
            UNIQUE (org_id, hash)
        );
        -- Spans in which a skill was used, masked. Ids as bytes, times as nanoseconds: there are many rows.
        CREATE TABLE skill_spans (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL,
            trace_id BLOB NOT NULL,
            span_id BLOB NOT NULL,
            resource_id INTEGER NOT NULL,
            agent_id TEXT,
            skill TEXT NOT NULL,
            name TEXT NOT NULL,
            status TEXT NOT NULL,
            start_ns INTEGER NOT NULL,
            end_ns INTEGER NOT NULL,
            happened_ns INTEGER NOT NULL,
            arrived_ns INTEGER NOT NULL,
            input TEXT,
            outcome TEXT,
            attributes TEXT NOT NULL,
            note TEXT
        );
        CREATE UNIQUE INDEX skill_spans_once ON skill_spans (org_id, trace_id, span_id);
        CREATE INDEX skill_spans_in_time ON skill_spans (org_id, happened_ns, id);
        -- Scenarios that telemetry suggests, named by their content: a second look adds nothing.
        CREATE TABLE eval_drafts (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            draft_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            skill TEXT NOT NULL,
            name TEXT NOT NULL,
            status TEXT NOT NULL,
            confidence REAL NOT NULL,
            support_k INTEGER NOT NULL,
            support_n INTEGER NOT NULL,
            body TEXT NOT NULL,
            scenario_id TEXT,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL,
            UNIQUE (org_id, draft_id)
        );
        """,
    ),
    (
        "0009_task_keys",
        """
        -- What a task is known by over uploads; of what it asks, and of what counts as right, by content.
        -- Worked out from texts, so what is there already gets its own after the start (engine.name_tasks),
        -- in slices: until then, and in the hidden datasets of matrices, they are NULL.
        ALTER TABLE tasks ADD COLUMN task_key TEXT;
        ALTER TABLE tasks ADD COLUMN content_hash TEXT;
        ALTER TABLE tasks ADD COLUMN oracle_hash TEXT;
        ALTER TABLE tasks ADD COLUMN tags TEXT;
        CREATE UNIQUE INDEX tasks_by_key ON tasks (dataset_id, task_key);
        -- Of all tasks in their order; NULL as long as one of them has no key.
        ALTER TABLE datasets ADD COLUMN content_hash TEXT;
        CREATE INDEX datasets_by_content ON datasets (org_id, content_hash) WHERE content_hash IS NOT NULL;
        CREATE INDEX datasets_to_name ON datasets (id) WHERE content_hash IS NULL AND kind = 'tasks';
        """,
    ),
    (
        "0010_oracles",
        """
        -- Every version of a task's oracle, by the seed that has it. A task without rows has its first one.
        CREATE TABLE task_oracles (
            task_id INTEGER NOT NULL REFERENCES tasks (id),
            version INTEGER NOT NULL,
            seed_hash TEXT NOT NULL,
            oracle_hash TEXT,
            note TEXT NOT NULL,
            changed_by TEXT,
            created_at TEXT NOT NULL,
            PRIMARY KEY (task_id, version)
        );
        -- Verdicts in whose place others stand since their run was judged again. Only ever added to.
        CREATE TABLE past_verdicts (
            id INTEGER PRIMARY KEY,
            run_id INTEGER NOT NULL REFERENCES runs (id),
            verdict TEXT,
            failure_mode TEXT,
            judgement TEXT,
            judge_error TEXT,
            replaced_at TEXT NOT NULL
        );
        CREATE INDEX past_verdicts_of_run ON past_verdicts (run_id, id);
        -- By which version of its task's oracle a run was judged; NULL: by the first.
        ALTER TABLE runs ADD COLUMN oracle_version INTEGER;
        """,
    ),
    (
        "0011_clients",
        """
        -- The MCP client that called a tool, as it calls itself.
        ALTER TABLE trace_rows ADD COLUMN client TEXT;
        """,
    ),
    (
        "0012_tool_endpoints",
        """
        -- What is large of a config (a spec, source) is a text of its own, by its hash: calls read the rest.
        CREATE TABLE tool_endpoints (
            id INTEGER PRIMARY KEY,
            endpoint_id TEXT NOT NULL UNIQUE,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            name TEXT NOT NULL,
            type TEXT NOT NULL,
            config TEXT NOT NULL,
            content_hash TEXT,
            auth TEXT,
            version INTEGER NOT NULL,
            discovered_at TEXT,
            discovery_error TEXT,
            discovery_notes TEXT NOT NULL,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL,
            UNIQUE (org_id, name)
        );
        CREATE INDEX tool_endpoints_of_org ON tool_endpoints (org_id, id);
        -- `body` is the tool as it was accepted. `drift` says that it is otherwise by now: 'changed', and
        -- `found` has what it has become, or 'gone'.
        CREATE TABLE endpoint_tools (
            id INTEGER PRIMARY KEY,
            endpoint_id TEXT NOT NULL REFERENCES tool_endpoints (endpoint_id),
            name TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            body TEXT NOT NULL,
            drift TEXT,
            found TEXT,
            UNIQUE (endpoint_id, name)
        );
        -- The passthrough bindings of every agent's current version.
        CREATE TABLE endpoint_bindings (
            agent_id INTEGER NOT NULL REFERENCES agents (id),
            declared_name TEXT NOT NULL,
            endpoint_id TEXT NOT NULL REFERENCES tool_endpoints (endpoint_id),
            tool_name TEXT NOT NULL,
            is_by_name INTEGER NOT NULL,
            PRIMARY KEY (agent_id, declared_name)
        );
        CREATE INDEX endpoint_bindings_of_endpoint ON endpoint_bindings (endpoint_id, agent_id);
        """,
    ),
    (
        "0013_cassettes",
        """
        -- `calls` and `bytes` are of what it holds, `dropped` counts what it had no room for. `revision` goes
        -- up with every change: what is held in memory is of one revision. Without a name: not stored whole
        -- yet, or being removed.
        CREATE TABLE cassettes (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            name TEXT,
            calls INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            dropped INTEGER NOT NULL,
            revision INTEGER NOT NULL,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL,
            UNIQUE (org_id, name)
        );
        CREATE INDEX cassettes_of_org ON cassettes (org_id, id);
        -- What is asked, by its hash, and the how-manieth time; `line` is the whole call, masked.
        CREATE TABLE cassette_calls (
            id INTEGER PRIMARY KEY,
            cassette_id INTEGER NOT NULL REFERENCES cassettes (id),
            call_key TEXT NOT NULL,
            occurrence INTEGER NOT NULL,
            line TEXT NOT NULL,
            UNIQUE (cassette_id, call_key, occurrence)
        );
        CREATE INDEX cassette_calls_in_order ON cassette_calls (cassette_id, id);
        -- How calls of passthrough tools are answered; NULL: live.
        ALTER TABLE runs ADD COLUMN passthrough TEXT;
        ALTER TABLE runs ADD COLUMN cassette TEXT;
        ALTER TABLE batches ADD COLUMN passthrough TEXT;
        ALTER TABLE batches ADD COLUMN cassette TEXT;
        """,
    ),
    (
        "0014_sign_ins",
        """
        -- Who has signed in to the pages: by a key, which ends them all when it is revoked, or by a token
        -- (`bearer`: what it said).
        CREATE TABLE sign_ins (
            token_hash TEXT PRIMARY KEY,
            key_id INTEGER REFERENCES api_keys (id),
            bearer TEXT,
            created_at TEXT NOT NULL,
            expires_at TEXT NOT NULL
        );
        CREATE INDEX sign_ins_by_end ON sign_ins (expires_at);
        -- Links that sign in once.
        CREATE TABLE sign_in_links (
            token_hash TEXT PRIMARY KEY,
            key_id INTEGER NOT NULL REFERENCES api_keys (id),
            expires_at TEXT NOT NULL
        );
        """,
    ),
    (
        "0015_models",
        """
        -- Each question to a model, stored before it is sent, with what came of it. Masked. A question that
        -- was answered before is not sent again: its row has no texts and names the one that has them.
        CREATE TABLE model_exchanges (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            run_id INTEGER REFERENCES runs (id),
            batch_id INTEGER REFERENCES batches (id),
            subject TEXT,
            purpose TEXT NOT NULL,
            model TEXT NOT NULL,
            prompt_version TEXT NOT NULL,
            question_key TEXT NOT NULL,
            status TEXT NOT NULL,
            request TEXT,
            answer TEXT,
            failure TEXT,
            problem TEXT,
            replay_of INTEGER REFERENCES model_exchanges (id),
            requests INTEGER NOT NULL,
            input_tokens INTEGER,
            output_tokens INTEGER,
            cost_nanousd INTEGER,
            reserved_tokens INTEGER NOT NULL,
            reserved_nanousd INTEGER NOT NULL,
            latency_ms INTEGER,
            created_at TEXT NOT NULL
        );
        CREATE INDEX model_exchanges_of_run ON model_exchanges (run_id, id);
        CREATE INDEX model_exchanges_of_batch ON model_exchanges (batch_id, id);
        CREATE INDEX model_exchanges_of_org ON model_exchanges (org_id, id);
        CREATE INDEX model_exchanges_of_subject ON model_exchanges (org_id, subject, id);
        -- The first usable answer to a question is the one that everybody gets.
        CREATE TABLE model_answers (
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            question_key TEXT NOT NULL,
            exchange_id INTEGER NOT NULL REFERENCES model_exchanges (id),
            PRIMARY KEY (org_id, question_key)
        );
        -- What a batch may spend on models, and what it has: reserved before a request, set right after it.
        ALTER TABLE batches ADD COLUMN max_cost_nanousd INTEGER;
        ALTER TABLE batches ADD COLUMN max_model_tokens INTEGER;
        ALTER TABLE batches ADD COLUMN model_cost_nanousd INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE batches ADD COLUMN model_tokens INTEGER NOT NULL DEFAULT 0;
        """,
    ),
    (
        "0016_seed_sessions",
        """
        -- One world that people review, and rows that are made of it once it is frozen. `revision` is that of
        -- the present world; `world_hash` names the frozen one, `world_content` is the hash of what it says.
        CREATE TABLE seed_sessions (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            agent_id INTEGER NOT NULL REFERENCES agents (id),
            agent_version INTEGER NOT NULL,
            name TEXT NOT NULL,
            status TEXT NOT NULL,
            author TEXT NOT NULL,
            size TEXT NOT NULL,
            instructions TEXT,
            behavior TEXT,
            axes TEXT NOT NULL,
            rng_seed INTEGER NOT NULL,
            world_now TEXT NOT NULL,
            are_buckets_chosen INTEGER NOT NULL,
            revision INTEGER NOT NULL,
            world_hash TEXT,
            world_content TEXT,
            dataset_id INTEGER REFERENCES datasets (id),
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL
        );
        CREATE INDEX seed_sessions_of_org ON seed_sessions (org_id, id);
        CREATE INDEX seed_sessions_generating ON seed_sessions (id) WHERE status = 'rows_generating';
        -- `undo_to` is the revision that undoing this one goes back to. `told` is what the author said of the
        -- world, `changes` how it differs from the one before: both JSON, and of bounded size.
        CREATE TABLE world_revisions (
            session_id INTEGER NOT NULL REFERENCES seed_sessions (id),
            number INTEGER NOT NULL,
            kind TEXT NOT NULL,
            prompt TEXT,
            undo_to INTEGER,
            world_hash TEXT NOT NULL,
            rng_seed INTEGER,
            told TEXT NOT NULL,
            changes TEXT NOT NULL,
            created_by TEXT NOT NULL,
            created_at TEXT NOT NULL,
            PRIMARY KEY (session_id, number)
        );
        CREATE INDEX world_revisions_by_text ON world_revisions (world_hash);
        -- `wanted` rows of a theme. Drafts are numbered; `drafted` of this round have been looked at, and
        -- what became of each is a row below. `problem` says why it ended before it had enough, `notes` (a
        -- JSON list) how its author understood the theme.
        CREATE TABLE seed_buckets (
            session_id INTEGER NOT NULL REFERENCES seed_sessions (id),
            number INTEGER NOT NULL,
            name TEXT NOT NULL,
            theme TEXT NOT NULL,
            asked INTEGER NOT NULL,
            wanted INTEGER NOT NULL,
            round INTEGER NOT NULL,
            drafted INTEGER NOT NULL,
            is_done INTEGER NOT NULL,
            problem TEXT,
            notes TEXT,
            PRIMARY KEY (session_id, number)
        );
        -- A draft that was proved is kept, and may be dropped; one that was not is rejected, with the reason.
        -- `seed` is the task's, without its world; `proof` has the reference calls and what they reach.
        CREATE TABLE seed_rows (
            id INTEGER PRIMARY KEY,
            session_id INTEGER NOT NULL REFERENCES seed_sessions (id),
            bucket INTEGER NOT NULL,
            round INTEGER NOT NULL,
            draft INTEGER NOT NULL,
            status TEXT NOT NULL,
            user_instruction TEXT NOT NULL,
            seed TEXT,
            proof TEXT,
            reason_code TEXT,
            reason TEXT,
            created_at TEXT NOT NULL,
            UNIQUE (session_id, bucket, round, draft)
        );
        CREATE INDEX seed_rows_of_session ON seed_rows (session_id, status, id);
        """,
    ),
    (
        "0017_coding",
        """
        -- Tasks have copies, so a scenario that is changed or deleted changes none of them. `head` is what
        -- lists show: a body may have megabytes.
        CREATE TABLE coding_scenarios (
            id INTEGER PRIMARY KEY,
            scenario_id TEXT NOT NULL UNIQUE,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            name TEXT NOT NULL,
            version INTEGER NOT NULL,
            body TEXT NOT NULL,
            head TEXT NOT NULL,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL,
            UNIQUE (org_id, name)
        );
        CREATE INDEX coding_scenarios_of_org ON coding_scenarios (org_id, id);
        -- What an agent changed: `patch` is git's, compressed, `summary` everything about it but the patch.
        CREATE TABLE run_workspaces (
            run_id INTEGER PRIMARY KEY REFERENCES runs (id),
            baseline TEXT NOT NULL,
            summary TEXT NOT NULL,
            patch BLOB NOT NULL,
            signs TEXT NOT NULL
        );
        -- The last one of a run counts; those before it are kept.
        CREATE TABLE run_gradings (
            id INTEGER PRIMARY KEY,
            run_id INTEGER NOT NULL REFERENCES runs (id),
            grading TEXT NOT NULL,
            scorers TEXT NOT NULL,
            created_at TEXT NOT NULL
        );
        CREATE INDEX run_gradings_of_run ON run_gradings (run_id, id);
        ALTER TABLE tasks ADD COLUMN is_coding INTEGER NOT NULL DEFAULT 0;
        """,
    ),
    (
        "0018_model_names",
        """
        -- Which models are asked for the runs of a dataset, by purpose, as JSON; NULL: it names none.
        ALTER TABLE datasets ADD COLUMN models TEXT;
        """,
    ),
    (
        "0019_authored_rules",
        """
        -- Rules that a model made of a sentence which is not understood. In force from the version of its
        -- dataset's rules at which it was accepted until that at which it was taken back.
        CREATE TABLE authored_rules (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            dataset_id INTEGER NOT NULL REFERENCES datasets (id),
            text_hash TEXT NOT NULL,
            sentence TEXT NOT NULL,
            rules TEXT NOT NULL,
            left_out TEXT,
            tried TEXT NOT NULL,
            status TEXT NOT NULL,
            model TEXT NOT NULL,
            exchange_id INTEGER REFERENCES model_exchanges (id),
            from_version INTEGER,
            until_version INTEGER,
            decided_by TEXT,
            decided_at TEXT,
            created_at TEXT NOT NULL
        );
        CREATE INDEX authored_rules_of_dataset ON authored_rules (dataset_id, id);
        -- Counts the decisions on its rules; a run keeps the rules that were in force when it was made.
        ALTER TABLE datasets ADD COLUMN rules_version INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE runs ADD COLUMN rules_version INTEGER NOT NULL DEFAULT 0;
        """,
    ),
    (
        "0020_model_judge",
        """
        -- What judge models made of runs. One that is `wanted` was promised when its run ended; `claimed_by`
        -- is the worker that asks. `body` is the verdict as JSON, `is_taken` whether it became the run's.
        CREATE TABLE model_judgements (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            run_id INTEGER NOT NULL REFERENCES runs (id),
            batch_id INTEGER REFERENCES batches (id),
            status TEXT NOT NULL,
            model TEXT NOT NULL,
            prompt_version TEXT NOT NULL,
            verdict TEXT,
            failure_mode TEXT,
            body TEXT,
            failure TEXT,
            problem TEXT,
            exchange_id INTEGER REFERENCES model_exchanges (id),
            tokens INTEGER,
            cost_nanousd INTEGER,
            is_taken INTEGER NOT NULL,
            claimed_by TEXT,
            created_at TEXT NOT NULL,
            ended_at TEXT
        );
        CREATE INDEX model_judgements_of_run ON model_judgements (run_id, id);
        CREATE INDEX model_judgements_of_batch ON model_judgements (batch_id, status);
        CREATE INDEX model_judgements_of_org ON model_judgements (org_id, model, prompt_version);
        CREATE INDEX model_judgements_wanted ON model_judgements (id) WHERE status = 'wanted';
        -- What people decided is what judges are measured by.
        CREATE INDEX runs_decided_by_people ON runs (org_id, id) WHERE human_verdict IS NOT NULL;
        """,
    ),
    (
        "0021_conversations",
        """
        -- How a conversation went: who played the user, what each turn rests on, whose word ended it.
        ALTER TABLE runs ADD COLUMN conversation TEXT;
        """,
    ),
    (
        "0022_session_budgets",
        """
        -- What a seed session may spend on models, and what it has: as for batches, reserved before a request
        -- and set right after it. There before the session is, which is stored with its first world.
        CREATE TABLE model_budgets (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            max_cost_nanousd INTEGER,
            max_model_tokens INTEGER,
            model_cost_nanousd INTEGER NOT NULL DEFAULT 0,
            model_tokens INTEGER NOT NULL DEFAULT 0,
            created_at TEXT NOT NULL
        );
        ALTER TABLE model_exchanges ADD COLUMN budget_id INTEGER REFERENCES model_budgets (id);
        CREATE INDEX model_exchanges_of_budget ON model_exchanges (budget_id, id);
        ALTER TABLE seed_sessions ADD COLUMN budget_id INTEGER REFERENCES model_budgets (id);
        """,
    ),
    (
        "0023_pending_reasons",
        """
        -- Of a run's judgement, to be filtered and counted by: why it is pending, and how many statements of
        -- its answer were not verified. Null where its grader told neither, as those before version 20 did.
        ALTER TABLE runs ADD COLUMN pending_reason TEXT;
        ALTER TABLE runs ADD COLUMN unverified INTEGER;
        CREATE INDEX runs_pending_reasons ON runs (batch_id, pending_reason)
            WHERE pending_reason IS NOT NULL AND retried = 0;
        CREATE INDEX runs_unverified ON runs (batch_id, unverified) WHERE unverified > 0 AND retried = 0;
        """,
    ),
    (
        "0024_honesty",
        """
        -- How strictly words are judged. Of a dataset NULL says nothing; of a batch it is from before there
        -- was a choice.
        ALTER TABLE datasets ADD COLUMN honesty TEXT;
        ALTER TABLE batches ADD COLUMN honesty TEXT;
        """,
    ),
    (
        "0025_additions_seen",
        """
        -- Whether what was added to the system prompt came back in the run's reply; null where nothing was
        -- added, and of runs that ended before anybody looked.
        ALTER TABLE eval_outcomes ADD COLUMN addition_seen INTEGER;
        """,
    ),
    (
        "0026_matched_rules",
        """
        -- Which rule of its plan answered a call, in words; null where its step names none.
        ALTER TABLE trace_rows ADD COLUMN matched_rule TEXT;
        """,
    ),
    (
        "0027_rules_of_sentences",
        """
        -- Rules belong to their sentence, in whatever text of the dataset it stands: the hash of a text is
        -- empty from here on. What is in force now is in force so from the next version on; the runs that
        -- were made before keep what they had, by the hash of their text.
        UPDATE datasets SET rules_version = rules_version + 1
            WHERE id IN (SELECT dataset_id FROM authored_rules WHERE status = 'accepted');
        INSERT INTO authored_rules (org_id, dataset_id, text_hash, sentence, rules, left_out, tried, status,
            model, exchange_id, from_version, decided_by, decided_at, created_at)
            SELECT r.org_id, r.dataset_id, '', r.sentence, r.rules, r.left_out, r.tried, r.status, r.model,
                r.exchange_id, d.rules_version, r.decided_by, r.decided_at, r.created_at
            FROM authored_rules r JOIN datasets d ON d.id = r.dataset_id
            WHERE r.status = 'accepted' AND NOT EXISTS (SELECT 1 FROM authored_rules o
                WHERE o.dataset_id = r.dataset_id AND o.sentence = r.sentence AND o.status = 'accepted'
                AND o.id > r.id);
        UPDATE authored_rules SET status = 'withdrawn', until_version =
            (SELECT rules_version FROM datasets WHERE datasets.id = authored_rules.dataset_id)
            WHERE status = 'accepted' AND text_hash <> '';
        DELETE FROM authored_rules WHERE status IN ('proposed', 'refused') AND EXISTS
            (SELECT 1 FROM authored_rules o WHERE o.dataset_id = authored_rules.dataset_id
            AND o.sentence = authored_rules.sentence AND o.status IN ('proposed', 'refused')
            AND o.id > authored_rules.id);
        UPDATE authored_rules SET text_hash = '' WHERE status IN ('proposed', 'refused');
        """,
    ),
    (
        "0028_spans_of_a_decision",
        """
        -- Which span a skill span stands in, and the device that it names itself; null of spans that came
        -- before there was such a column.
        ALTER TABLE skill_spans ADD COLUMN parent_id BLOB;
        ALTER TABLE skill_spans ADD COLUMN device_id TEXT;
        """,
    ),
    (
        "0029_rules_of_an_agents_sentences",
        """
        -- A rule holds for its sentence in all datasets of the same agent, so versions are counted by the
        -- org. They go on past those of its datasets: runs that were made before keep what they had, which
        -- ends where the org begins to count. A rule without a key holds for its dataset alone.
        ALTER TABLE orgs ADD COLUMN rules_version INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE authored_rules ADD COLUMN sentence_key TEXT;
        UPDATE orgs SET rules_version = 1 +
            (SELECT MAX(rules_version) FROM datasets WHERE datasets.org_id = orgs.id)
            WHERE EXISTS (SELECT 1 FROM datasets WHERE datasets.org_id = orgs.id AND rules_version > 0);
        INSERT INTO authored_rules (org_id, dataset_id, text_hash, sentence, sentence_key, rules, left_out,
            tried, status, model, exchange_id, from_version, decided_by, decided_at, created_at)
            SELECT r.org_id, r.dataset_id, r.text_hash, r.sentence, r.sentence, r.rules, r.left_out, r.tried,
                r.status, r.model, r.exchange_id, o.rules_version, r.decided_by, r.decided_at, r.created_at
            FROM authored_rules r JOIN orgs o ON o.id = r.org_id WHERE r.status = 'accepted';
        UPDATE authored_rules SET status = 'withdrawn', until_version =
            (SELECT rules_version FROM orgs WHERE orgs.id = authored_rules.org_id)
            WHERE status = 'accepted' AND sentence_key IS NULL;
        UPDATE authored_rules SET sentence_key = sentence WHERE status IN ('proposed', 'refused');
        ALTER TABLE datasets DROP COLUMN rules_version;
        CREATE INDEX authored_rules_of_sentence ON authored_rules (org_id, sentence_key);
        """,
    ),
    (
        "0030_author_jobs",
        """
        -- Questions to the author's model that take minutes: how far each is, then its answer or its error as
        -- JSON. Whoever works on it writes `updated_at` again and again.
        CREATE TABLE author_jobs (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            subject TEXT NOT NULL,
            status TEXT NOT NULL,
            done INTEGER NOT NULL,
            total INTEGER,
            answer TEXT,
            error TEXT,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL
        );
        CREATE INDEX author_jobs_of_subject ON author_jobs (org_id, subject, id);
        """,
    ),
    (
        "0031_build_labels",
        """
        -- Which build of the agent a batch ran: a label and a note by a person, and what its agent reported.
        ALTER TABLE batches ADD COLUMN label TEXT;
        ALTER TABLE batches ADD COLUMN note TEXT;
        ALTER TABLE batches ADD COLUMN reported_build TEXT;
        ALTER TABLE batches ADD COLUMN has_other_builds INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX batches_of_dataset ON batches (org_id, dataset_id, id);
        CREATE INDEX reviews_of_matrix ON reviews (org_id, matrix_id) WHERE matrix_id IS NOT NULL;
        """,
    ),
    (
        "0032_list_views",
        """
        -- What lists sort runs by. The rows of runs are wide: these are read by the thousand.
        CREATE TABLE run_figures (
            run_id INTEGER PRIMARY KEY,
            duration_ms REAL,
            calls INTEGER,
            tokens REAL,
            cost_usd REAL,
            reason TEXT
        );
        -- Lists with their filters, columns and order, under a name.
        CREATE TABLE saved_views (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            name TEXT NOT NULL,
            path TEXT NOT NULL,
            created_at TEXT NOT NULL,
            UNIQUE (org_id, name)
        );
        """,
    ),
    (
        "0033_hosts_of_credentials",
        """
        -- To which hosts a credential may be sent, as a JSON array: [] is bound to the first that it is sent
        -- to, ["*"] is any, as it was for all of them before.
        ALTER TABLE credentials ADD COLUMN hosts TEXT NOT NULL DEFAULT '["*"]';
        """,
    ),
    (
        "0034_removed_tasks",
        """
        -- A task that somebody removed, or replaced by an edited one, stays for the runs that were made of
        -- it. Its key is free for another task of the dataset.
        ALTER TABLE tasks ADD COLUMN removed_at TEXT;
        DROP INDEX tasks_by_key;
        CREATE UNIQUE INDEX tasks_by_key ON tasks (dataset_id, task_key) WHERE removed_at IS NULL;
        ALTER TABLE datasets ADD COLUMN deleted_at TEXT;
        """,
    ),
    (
        "0035_annotations",
        """
        -- What people write on runs: comments, and labels to find runs by. `step` is the sequence of a trace
        -- row; 0 means the whole run, since NULL is never equal to itself in a unique index.
        CREATE TABLE run_annotations (
            id INTEGER PRIMARY KEY,
            org_id INTEGER NOT NULL REFERENCES orgs (id),
            run_id INTEGER NOT NULL REFERENCES runs (id),
            step INTEGER NOT NULL,
            kind TEXT NOT NULL,
            text TEXT NOT NULL,
            written_by TEXT NOT NULL,
            created_at TEXT NOT NULL
        );
        CREATE INDEX annotations_of_run ON run_annotations (run_id, id);
        CREATE UNIQUE INDEX runs_by_label ON run_annotations (org_id, text, run_id, step)
            WHERE kind = 'label';
        CREATE INDEX runs_with_comments ON run_annotations (org_id, run_id) WHERE kind = 'comment';
        """,
    ),
)


def refuse_newer(done: Collection[str], known: Collection[str]) -> None:
    """Raises Refused where a newer version has changed the schema: what an older one reads and writes there
    would be wrong without a word."""
    newer = sorted(set(done) - set(known))
    if not newer:
        return
    message = f"has the migration {newer[-1]}, which this version {__version__} of pipelines does not know"
    hint = "start the newer version that wrote it, or restore the backup from before the upgrade"
    raise Refused([Problem(path="the database", message=message, hint=hint)], "the database")


def text_hash(text: str) -> str:
    """What a text is named by. For Postgres this is an expression of its own."""
    return hashlib.sha256(text.encode()).hexdigest()


def statements(script: str) -> list[str]:
    """A script's statements without its remarks. No text literal of ours has a semicolon."""
    without_remarks = re.sub(r"--[^\n]*", "", script)
    return [statement for statement in without_remarks.split(";") if statement.strip()]
