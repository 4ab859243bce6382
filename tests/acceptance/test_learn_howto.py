"""docs/howto/learn-a-backend.md done as written: from a live service to plans that are right."""

import re
import subprocess
import sys
from pathlib import Path

import yaml

from support.page_commands import enter, running_service
from support.ports import free_port
from support.repository import DOCS

PAGE = (DOCS / "howto" / "learn-a-backend.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_a_live_service_becomes_plans(tmp_path: Path) -> None:
    port = free_port()

    def on_port(text: str) -> str:
        return text.replace("8010", str(port))

    (tmp_path / "orders.py").write_text(on_port(blocks("python service")[0]))
    (tmp_path / "record_orders.py").write_text(on_port(blocks("python record")[0]))
    assert blocks("sh serve") == ["python orders.py\n"]
    record, learn, use, watch = blocks("sh")
    with running_service([sys.executable, "orders.py"], tmp_path, port):
        enter(record, tmp_path)
        said = enter(learn, tmp_path)
        assert "kept" in said
        plans = yaml.safe_load((tmp_path / "plans.yaml").read_text())
        assert "refund_order" in plans
        assert "paid" in str(plans["refund_order"])
        assert "100.0%" in said.rpartition("FM, all replies")[2]
        assert "refund_order" in enter(use, tmp_path)
        code = subprocess.run(
            [sys.executable, "-c", "import json; json.load(open('tools.json'))"], cwd=tmp_path, check=False
        ).returncode
        assert code == 0
        assert "refund_order" in enter(watch, tmp_path)
