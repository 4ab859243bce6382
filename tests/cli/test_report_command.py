"""`pipelines report`: nothing is written before it was said what it holds."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from test_results_commands import Look
from test_run_command import registered

from support.played_agents import refunds
from support.server_process import Api


@pytest.fixture
def look(api: Api, tmp_path: Path) -> Look:
    return Look(api, tmp_path)


@pytest.fixture(scope="module")
def batch_id(api: Api) -> Iterator[str]:
    with registered(api, refunds) as (_, agent_id):
        made = api.batch_of(int(agent_id), api.dataset(agent_id=int(agent_id))["id"])
        api.ended(made)
        yield str(made)


def test_the_file_is_written_once_it_was_agreed_to(look: Look, batch_id: str, tmp_path: Path) -> None:
    said = look("report", batch_id, "--html", "out.html", "--yes")
    assert said.startswith("out.html: ")
    text = (tmp_path / "out.html").read_text()
    assert "refund_order" in text
    assert "<script" not in text


def test_where_nobody_can_be_asked_nothing_is_written(look: Look, batch_id: str, tmp_path: Path) -> None:
    said = look("report", batch_id, "--html", "out.html", code=2)
    assert "1 run with 3 steps" in said
    assert "arguments and the reply of each tool call" in said
    assert "--yes" in said
    assert not (tmp_path / "out.html").exists()


def test_a_batch_that_is_not_there_is_said(look: Look) -> None:
    assert "There is no batch 999" in look("report", "999", "--html", "out.html", code=2)
