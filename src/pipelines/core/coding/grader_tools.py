"""Graders that install their tools before they run them: most scripts of the format do, with apt, curl and
uvx.

There is no network while a change is graded. So the packages that a script requests are installed with the
task, and it finds programs of these names that do nothing. The script itself is not changed.
"""

import re
import shlex
from dataclasses import dataclass

from pipelines.core.coding.run_lines import is_requirement, plain_packages
from pipelines.core.coding.scorers import TESTS_FOLDER

HOME = f"{TESTS_FOLDER}/.installed"
_MODULES = f"{HOME}/lib"
_INSTALLS = re.compile(r"\b(?:uvx|uv|apt-get|apt|pip3?)\s")
_UVX = re.compile(r"\b(?:uvx|uv tool run)\s+(.*)")
_UV_PIP = re.compile(r"\buv pip install\s+(.*)")
_WITH = ("-w", "--with")
_NEXT_COMMAND = re.compile(r"&&|\|\||[;|]")
_REDIRECTED = re.compile(r"\s\d?>+(?:&\d|\s*\S+)")
_VALUED = (*_WITH, "-p", "--python", "--from", "--index-url", "--default-index")

_UVX_PROGRAM = """#!/bin/sh
# What it would install is there: only its command is run.
while [ $# -gt 0 ]; do
  case "$1" in
    -p|--python|-w|--with|--from|--index-url|--default-index) shift 2 ;;
    --) shift; break ;;
    -*) shift ;;
    *) break ;;
  esac
done
exec "$@"
"""
_PIP_PROGRAM = """#!/bin/sh
exec python3 -m pip "$@"
"""
#: Found before any other of this name, whoever runs `python -m pip`.
_PIP_MODULE = """import sys

print("pip " + " ".join(sys.argv[1:]) + ": nothing is installed while a change is graded", file=sys.stderr)
sys.exit(0 if "install" in sys.argv else 1)
"""
_UV_PROGRAM = """#!/bin/sh
case "$1 $2" in
  "tool run") shift 2; exec uvx "$@" ;;
  run*) shift; exec uvx "$@" ;;
esac
echo "uv $*: nothing is installed while a change is graded" >&2
"""
_NOTHING_PROGRAM = """#!/bin/sh
echo "$(basename "$0") $*: nothing is installed while a change is graded" >&2
"""
_CURL_PROGRAM = """#!/bin/sh
case "$*" in *astral.sh/uv*) exit 0 ;; esac
exec /usr/bin/curl "$@"
"""
_PROGRAMS = {
    "uvx": _UVX_PROGRAM,
    "uv": _UV_PROGRAM,
    "pip": _PIP_PROGRAM,
    "pip3": _PIP_PROGRAM,
    "apt-get": _NOTHING_PROGRAM,
    "apt": _NOTHING_PROGRAM,
    "curl": _CURL_PROGRAM,
    "env": "# A script that installs uv reads this file then.\n",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class GraderTools:
    requirements: tuple[str, ...]
    files: dict[str, str]  # by absolute path
    before: str  # what stands before the command that is run
    note: str


def tools_of(script: str) -> GraderTools | None:
    """None for a script that installs nothing."""
    text = script.replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if not line.lstrip().startswith("#")]
    if not any(_INSTALLS.search(line) for line in lines):
        return None
    packages: list[str] = []
    for line in lines:
        packages += _requested_packages(line)
    names = tuple(dict.fromkeys(name for name in packages if is_requirement(name)))
    listed = ", ".join(names) or "nothing"
    return GraderTools(
        requirements=names,
        files={
            **{f"{HOME}/.local/bin/{name}": text for name, text in _PROGRAMS.items()},
            f"{_MODULES}/pip/__init__.py": "",
            f"{_MODULES}/pip/__main__.py": _PIP_MODULE,
        },
        before=f"HOME={HOME} PATH={HOME}/.local/bin:$PATH PYTHONPATH={_MODULES}:$PYTHONPATH ",
        note=f"its grader installs nothing here; these packages are installed beforehand: {listed}",
    )


def _requested_packages(line: str) -> list[str]:
    if (found := _UVX.search(line)) is not None:
        return _of_uvx(_words(found[1]))
    if (found := _UV_PIP.search(line)) is not None:
        return [word for word in _words(found[1]) if not word.startswith("-")]
    commands = [_REDIRECTED.sub("", command).strip() for command in _NEXT_COMMAND.split(line)]
    return [name for command in commands for name in plain_packages(command) or ()]


def _of_uvx(words: list[str]) -> list[str]:
    """Its packages, and the one that the command comes from."""
    packages: list[str] = []
    while words:
        word, *words = words
        if word in _VALUED and words:
            value, *words = words
            packages += value.split(",") if word in _WITH or word == "--from" else []
        elif not word.startswith("-"):
            known = {re.split(r"[\[=<>~!]", name)[0] for name in packages}
            return packages if word in known else [*packages, word]
    return packages


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text.partition(";")[0], comments=True)
    except ValueError:
        return text.split()
