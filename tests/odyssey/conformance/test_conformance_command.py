"""`pipelines odyssey conformance`: what it prints, what it keeps, and what its exit code says."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner
from wrappers import TOKEN, Dispatch, GoodWrapper, Json, serving

from pipelines.cli.agent.conformance import reply_problems
from pipelines.cli.main import app
from pipelines.odyssey.conformance import RULES
from support.repository import DOCS, EXAMPLES

AGENT = EXAMPLES / "refund_agent" / "agent.json"
TASKS = EXAMPLES / "refund_agent" / "tasks.csv"
AUTH = ("--auth-header", f"Authorization: Bearer {TOKEN}")
QUICK = ("--slow", "0.05")


def run(*arguments: str, **env: str) -> Any:
    return CliRunner().invoke(app, ["odyssey", "conformance", *arguments], env=env)


class ForwardsTheEnvelope(GoodWrapper):
    def unwrap(self, reply: Json) -> Json:
        return reply.body


class Answers(GoodWrapper):
    """With nothing but a final response, and from a tool of its own."""

    tool = "get_order"

    def answer(self, dispatch: Dispatch) -> Json:
        if "4521" in dispatch.prompt:
            self.call(dispatch, self.tool, {"order_id": "4521"})
        return {"final_response": "Done."}


class MisspellsTheTool(Answers):
    tool = "get_ordr"


def test_a_broken_rule_is_told_with_its_paragraph_and_what_to_change():
    with serving(ForwardsTheEnvelope()) as url:
        result = run("--url", url, *AUTH, *QUICK, "--only", "tools.unwrapped")
    assert result.exit_code == 1, result.output
    rule = RULES["tools.unwrapped"]
    for part in ("FAIL  tools.unwrapped", rule.why, rule.change, "docs/reference/conformance.md"):
        assert part in result.output
    assert "auth.required" not in result.output  # only what was asked for


@pytest.mark.slow
def test_the_token_may_come_from_the_environment_and_the_task_from_a_csv(tmp_path: Path):
    report, junit = tmp_path / "report.json", tmp_path / "junit.xml"
    with serving(GoodWrapper()) as url:
        given = ("--token-env", "MY_TOKEN", "--tools", str(AGENT), "--dataset", str(TASKS), "--task", "3")
        result = run("--url", url, *given, *QUICK, "--json", "--junit", str(junit), MY_TOKEN=TOKEN)
    assert result.exit_code == 0, result.output
    report.write_text(result.stdout)
    told = json.loads(result.stdout)
    assert told["ok"]
    assert told["counts"]["passed"] == len(RULES) == len(told["checks"])
    by_rule = {check["rule"]: check for check in told["checks"]}
    assert "'5001'" in by_rule["envelope.instruction"]["found"]  # the third task asks for it
    suite = ElementTree.fromstring(junit.read_text())
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (str(len(RULES)), "0", "0")


def test_an_agent_that_calls_no_tool_is_told_how_to_have_more_checked(tmp_path: Path):
    junit = tmp_path / "junit.xml"
    with serving(Answers()) as url:
        result = run("--url", url, *AUTH, *QUICK, "--instruction", "Hello", "--junit", str(junit))
    assert result.exit_code == 0, result.output
    assert re.search(r"skip  tools\.path .*--instruction", result.output)
    assert re.search(r"n/o   envelope\.instruction ", result.output)
    suite = ElementTree.fromstring(junit.read_text())
    assert suite.get("skipped") == str(len(suite.findall("testcase/skipped"))) != "0"


def test_what_an_agent_does_not_show_is_not_called_a_pass():
    with serving(Answers()) as url:
        result = run("--url", url, *AUTH, *QUICK, "--only", "tools.unwrapped")
    assert "n/o   tools.unwrapped" in result.output


def test_declared_tools_are_held_against_the_calls():
    with serving(MisspellsTheTool()) as url:
        result = run("--url", url, *AUTH, *QUICK, "--tools", str(AGENT), "--only", "tools.")
    assert result.exit_code == 1
    assert "did you mean get_order?" in result.output


def test_replies_from_a_file_reach_the_agent(tmp_path: Path):
    replies = tmp_path / "replies.json"
    replies.write_text('{"get_order": {"status": "lost at sea"}}')
    with serving(GoodWrapper()) as url:
        result = run("--url", url, *AUTH, "--replies", str(replies), "--only", "response.", "--json")
    checks = {check["rule"]: check["found"] for check in json.loads(result.stdout)["checks"]}
    assert checks["response.final_response"] == f"{len('Order 4521: lost at sea')} characters"


def test_a_failure_that_hides_everything_else_is_told_whatever_was_asked_for():
    with serving(GoodWrapper()) as url:
        result = run("--url", url, "--auth-header", "Authorization: Bearer wrong", "--only", "tools.")
    assert result.exit_code == 1
    assert "FAIL  auth.accepted" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--url", "127.0.0.1:9100"), "not an http:// or https:// URL"),
        (("--url", "http://127.0.0.1:1/dispatch"), "cannot be reached"),
        (("--url", "http://h/", "--auth-header", "Bearer"), '"Authorization: Bearer <token>"'),
        (("--url", "http://h/", "--token-env", "NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE is not set"),
        (("--url", "http://h/", *AUTH, "--token-env", "X"), "not both"),
        (("--url", "http://h/", "--only", "toolz"), "no such rule"),
        (("--url", "http://h/", "--dataset", str(TASKS)), "--dataset needs --tools"),
        (("--url", "http://h/", "--dataset", str(TASKS), "--tools", str(AGENT), "--task", "99"), "12 tasks"),
        (("--url", "http://h/", "--tools", "none.json"), "none.json"),
        (("--url", "http://h/", "--proxy-host", "0.0.0.0"), "--proxy-url"),
        (("--url", "http://h/", "--proxy-url", "elsewhere"), "--proxy-url"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_wrong_usage_is_exit_code_2_and_says_what_to_give(arguments: tuple[str, ...], said: str):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert said in result.output


def test_a_wrapper_with_auth_and_no_header_given_is_exit_code_2():
    with serving(GoodWrapper()) as url:
        result = run("--url", url)
    assert result.exit_code == 2
    assert "--auth-header or --token-env" in result.output


class WithoutAuth(GoodWrapper):
    def authenticate(self, headers: dict[str, str]) -> None:
        pass


@pytest.mark.slow
def test_a_wrapper_without_auth_is_checked_and_warned():
    with serving(WithoutAuth()) as url:
        result = run("--url", url, *QUICK)
    assert result.exit_code == 0, result.output
    assert "warn  auth.required" in result.output


@pytest.mark.parametrize(
    ("answer", "is_dropped"),
    [
        (b'{"final_response": "x"}', None),
        (b'{"final_response": ""}', None),  # a rule of its own
        (b"no JSON", None),
        (b'{"final_response": "x", "messages": [{"content": "y"}]}', True),
        (b'{"final_response": "x", "metadata": []}', True),
        (b'{"final_response": "x", "messages": [{"role": "tool", "tool_call_id": "none"}]}', False),
    ],
)
def test_what_the_platform_would_drop_of_an_answer(answer: bytes, is_dropped: bool | None):
    problems = reply_problems(answer, "application/json")
    assert [dropped for dropped, _ in problems[:1]] == ([] if is_dropped is None else [is_dropped])


def test_the_page_explains_every_rule_in_the_words_of_the_kit():
    page = (DOCS / "reference" / "conformance.md").read_text()
    sections = dict(re.findall(r"^### `([\w.]+)`\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL))
    assert list(sections) == list(RULES)
    for name, rule in RULES.items():
        told = " ".join(sections[name].split())
        assert told == f"**{rule.title}.** {rule.why} *Change:* {rule.change}", name
