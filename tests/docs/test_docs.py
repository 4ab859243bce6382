"""Promises of the reference pages: what exists is documented, and what is documented exists."""

import json
import re
from dataclasses import fields

import pytest
import typer.main

from pipelines.cli.main import app as cli
from pipelines.core.agents.agent_response_schema import COUNT_KEYS, NUMBER_KEYS, TEXT_KEYS
from pipelines.core.ledger.ledger_adapter import WRITE_POLICIES, LedgerAdapter
from pipelines.core.simulation.rules.forms import FORMS, read_rules
from pipelines.core.simulation.syntax.functions import FUNCTIONS
from pipelines.core.tasks.task_columns import COLUMNS
from pipelines.core.text.problems import Problem
from pipelines.core.text.yaml_text import read_yaml
from pipelines.core.tools.failure_rules import (
    FIELDS_BY_TRIGGER,
    AfterNCalls,
    AfterStateChange,
    Randomly,
    parse_failure_rules,
)
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.verdict.pending_words import PENDING_WORDS
from pipelines.server.app import App
from pipelines.server.config.settings import SETTINGS, load_settings
from pipelines.server.errors import status_of
from pipelines.server.service.metrics import METRICS
from pipelines.wire import names
from pipelines.wire.envelope import Envelope, ErrorClass
from pipelines.wire.errors import every_error
from pipelines.wire.names import Role, RunStatus, Source, TraceEventType
from support.repository import DOCS, ROOT

ENVELOPE = Envelope(
    run_id=1,
    task_id=1,
    agent_id=1,
    user_instruction="",
    odyssey_proxy_url="",
    run_token="",
    run_token_jti="",
    messages=[],
    session_id="",
    system_prompt_addition="",
    variation={},
)
REFERENCE = DOCS / "reference"
HOWTO = DOCS / "howto"


def page(name: str) -> str:
    return (REFERENCE / name).read_text()


def test_every_endpoint_is_documented_and_no_other():
    paths = App(load_settings({})).api.openapi()["paths"]
    real = {(method.upper(), path) for path, operations in paths.items() for method in operations}
    told = set(re.findall(r"\| `(GET|POST|PUT|DELETE) (/[^`]*)`", page("api.md")))
    assert told == real


def test_every_setting_is_documented_with_its_default():
    told = dict(re.findall(r"^\| `(PIPELINES_\w+)` \| (\S+) \|", page("settings.md"), re.MULTILINE))
    assert told == {s.variable: f"`{s.default}`" if s.default != "" else "–" for s in SETTINGS}


def test_every_metric_is_documented_with_its_kind_and_meaning():
    told = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", page("metrics.md"), re.MULTILINE)
    assert told == [tuple(metric) for metric in METRICS]


def test_every_error_code_is_documented_with_its_status():
    told = re.findall(r"^\| `(\w+)` \| (\d+) \|", page("errors.md"), re.MULTILINE)
    assert sorted(told) == sorted((error.code, str(status_of(error))) for error in every_error())


def test_every_csv_column_is_documented_with_its_axis():
    told = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", page("csv.md"), re.MULTILINE)
    assert told == [(column.name, column.axis) for column in COLUMNS]


def test_every_pending_reason_is_documented_in_the_words_that_people_read():
    told = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", (HOWTO / "read-a-run.md").read_text(), re.MULTILINE)
    assert told == [(reason, words.says, words.to_do) for reason, words in PENDING_WORDS.items()]


def test_every_function_of_the_plan_language_is_documented():
    text = page("plans.md")
    missing = [name for name in FUNCTIONS if f"`{name}(" not in text]
    assert not missing


def commands(group: object, prefix: str) -> list[str]:
    found: list[str] = []
    for name, command in sorted(getattr(group, "commands", {}).items()):
        found += commands(command, f"{prefix} {name}") or [f"{prefix} {name}"]
    return found


def test_every_command_is_documented():
    told = re.findall(r"^## `(pipelines [^`]+?)(?: [A-Z\[].*)?`", page("cli.md"), re.MULTILINE)
    assert sorted(told) == commands(typer.main.get_command(cli), "pipelines")


NOT_OURS = {".venv", ".bench", "node_modules"}


@pytest.mark.parametrize("path", [p for p in sorted(ROOT.rglob("*.md")) if not NOT_OURS & set(p.parts)])
def test_links_between_pages_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text()):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_failure_rules_of_the_reference_are_read_and_every_field_is_told():
    text = page("failure-rules.md")
    (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    tools = {"refund_order", "get_order"}
    rules = parse_failure_rules(json.loads(example), tools=tools)
    assert [type(rule) for rule in rules] == [AfterNCalls, Randomly, AfterStateChange]
    told = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    assert told == {"trigger"} | {field.name for kind in map(type, rules) for field in fields(kind)}


def test_every_form_of_a_rule_is_documented_with_what_it_takes():
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*)\| ([^|]*)\|", page("rules.md"), re.MULTILINE)
    told = {form: (re.findall(r"`(\w+)`", needs), re.findall(r"`(\w+)`", may)) for form, needs, may in rows}
    assert {form: told.get(form) for form in FORMS} == {
        form: ([*keys.needed], [*keys.optional]) for form, keys in FORMS.items()
    }


def test_the_rules_of_the_reference_are_read():
    (example,) = re.findall(r"```yaml\n(.*?)```", page("rules.md"), re.DOTALL)
    problems: list[Problem] = []
    read = read_rules(read_yaml(example, what="rule", most_bytes=10_000).value, "", problems)
    assert not problems
    assert (len(read.rules), read.off) == (3, ("refund-cap",))


def _wire_words() -> dict[str, list[str]]:
    """Everything an author or an agent writes or reads by name, by where it comes from."""
    of_names = vars(names)
    return {
        "headers": [value for name, value in of_names.items() if name.startswith("HEADER_")],
        "environment": [value for name, value in of_names.items() if name.startswith("ENV_")],
        "sources": [*Source],
        "statuses": [*RunStatus],
        "events": [*TraceEventType],
        "roles": [*Role],
        "error classes": [*ErrorClass],
        "triggers": list(FIELDS_BY_TRIGGER),
        "fields of a tool": [each.name for each in fields(Tool) if not each.name.startswith("_")],
        "fields of an adapter": [each.name for each in fields(LedgerAdapter)],
        "write policies": list(WRITE_POLICIES),
        "keys of metadata": [*TEXT_KEYS, *COUNT_KEYS, *NUMBER_KEYS],
        "parts of a dispatch": list(ENVELOPE.body()) + list(ENVELOPE.body()["input"]),
        "columns": [column.name for column in COLUMNS],
    }


@pytest.mark.parametrize("kind", _wire_words())
def test_every_name_on_the_wire_stands_in_a_reference_page(kind):
    told = "\n".join(path.read_text() for path in REFERENCE.glob("*.md"))
    written = set(re.findall(r"[`\"./]([A-Za-z_][\w-]*)", told))
    missing = [word for word in _wire_words()[kind] if word not in written]
    assert not missing
