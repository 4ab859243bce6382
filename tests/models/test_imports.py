"""A server without models starts as fast as before: nothing of a provider is loaded before it is asked."""

import subprocess
import sys

SEEN = """
import sys
import pipelines
import pipelines.cli.main
from pipelines.server.app import App
from pipelines.server.config.settings import load_settings
App(load_settings({"PIPELINES_MODEL": "openai:gpt-5-mini"}, data_dir=sys.argv[1]))
heavy = {"pydantic_ai", "openai", "anthropic", "genai_prices"}
print(sorted(heavy & {name.partition(".")[0] for name in sys.modules}))
"""


def test_importing_and_building_the_server_loads_no_provider(tmp_path: object) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SEEN, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
