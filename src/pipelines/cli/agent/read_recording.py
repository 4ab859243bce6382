"""Reads a recording: a folder with tools.json and calls.jsonl, or a file of recorded runs."""

from pathlib import Path
from typing import NamedTuple

from pipelines.cli.files import or_stop, read_bytes, read_lines, read_object, read_tools, stop
from pipelines.core.recordings.learnable import recording_of_runs
from pipelines.core.recordings.read import read_recording as read_runs
from pipelines.core.simulation.fidelity.recording import Recording, read_recording
from pipelines.core.tools.tools_schema import Tool


class RecordedBackend(NamedTuple):
    recording: Recording
    tools: tuple[Tool, ...]


def read_recorded_backend(path: Path, tools: Path | None = None) -> RecordedBackend:
    """`tools` is needed for a file of recorded runs, and replaces the tools.json of a folder."""
    if path.is_file():
        if tools is None:
            stop(f"{path} is a file of recorded runs, which may not declare its tools: add --tools FILE")
        runs = or_stop(path, read_runs, read_bytes(path)).runs
        return RecordedBackend(recording_of_runs(runs), read_tools(tools))
    calls, state_file = path / "calls.jsonl", path / "state.json"
    if not calls.exists():
        stop(f"{path} is no recording: it has no calls.jsonl. See docs/reference/cli.md, `odyssey fidelity`")
    state = read_object(state_file) if state_file.exists() else {}
    recording = or_stop(calls, read_recording, state, read_lines(calls))
    return RecordedBackend(recording, read_tools(tools or path / "tools.json"))
