"""The entry file: what can be told about `run` without running it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.code.code_entry import entry_problems


def told(source, function="run"):
    raw = source if isinstance(source, bytes) else source.encode()
    return [problem.message for problem in entry_problems(raw, "agent.py", function=function, place="/code")]


GOOD = [
    "def run(task_input, *, proxy_url, run_token): ...",
    "def run(task_input, proxy_url, run_token): ...",
    "def run(task, /, *, run_token, proxy_url, extra=1): ...",
    "def run(*args, **kwargs): ...",
    "def run(task_input, **more): ...",
    "async def run(task_input, *, proxy_url, run_token): ...",
    "if True:\n    def run(task_input, *, proxy_url, run_token): ...",
    "try:\n    import x\nexcept ImportError:\n    def run(task_input, *, proxy_url, run_token): ...",
    "from bots import run",
    "from bots import go as run",
    "from bots import *",
    "run = print",
    "run: object = print",
    "a, run = 1, print",
    "class run:\n    pass",
    "@decorated\ndef run(): ...",
    "\ufeffdef run(task_input, *, proxy_url, run_token): ...",
    "def run(): ...\ndef run(task_input, *, proxy_url, run_token): ...",
]


@pytest.mark.parametrize("source", GOOD)
def test_what_could_be_called_is_taken(source):
    assert told(source) == []


BAD = {
    "": "has no function `run`",
    "def go(): ...": "has no function `run`",
    "def f():\n    def run(task_input, *, proxy_url, run_token): ...": "has no function `run`",
    "class A:\n    def run(self, task_input, *, proxy_url, run_token): ...": "has no function `run`",
    "def run(): ...": "takes no task_input",
    "def run(task_input): ...": "does not take `proxy_url` and `run_token` by name",
    "def run(task_input, *, proxy_url): ...": "does not take `run_token` by name",
    "def run(proxy_url, run_token): ...": "does not take `proxy_url` by name",
    "def run(task_input, proxy_url, run_token, /): ...": "does not take `proxy_url` and `run_token`",
    "\n\ndef run(task_input, model, *, proxy_url, run_token): ...": "line 3: `run` requires `model`",
    "def run(task_input, *, proxy_url, run_token, model): ...": "requires `model`",
    "def run(task_input, *, proxy_url, run_token)\n": "line 1: expected ':'",
    "x = 1\ny = (\n": "line 2: '(' was never closed",
    "print 'x'": "line 1: Missing parentheses",
    "x = '\0'": "null bytes",
}


@pytest.mark.parametrize("source", BAD)
def test_what_could_not_be_called_is_refused_with_its_line(source):
    (message, *_) = told(source)
    assert BAD[source] in message
    assert message.startswith("`agent.py`")


def test_text_in_another_encoding():
    assert told("x = 1\n# gr\xfc\xdfe".encode("latin-1")) == ["`agent.py`, line 2 is not UTF-8 text"]


def test_another_function_can_be_named():
    assert told("def go(task_input, *, proxy_url, run_token): ...", function="go") == []


def test_source_made_to_exhaust_a_parser():
    assert told("(" * 50_000)
    assert told("x = " + "-" * 100_000 + "1")
    assert told("if x:\n    pass\n" + "elif x:\n    pass\n" * 1_200)
    assert told("#" * (1024 * 1024 + 1)) == [
        ("`agent.py` is over 1024 KB, which is too large for an entry file")
    ]


@given(st.binary(max_size=200))
def test_no_source_is_too_strange(raw):
    assert isinstance(told(raw), list)
