"""Interprets a `RUN` of a Dockerfile without an image: packages, file modes, or a command that can be run in
the workspace at setup. A command that reaches further is a reason to refuse the task.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

#: Tools to work with, which a server's own system has or a task does not depend on: installing them changes
#: nothing that is graded. The proof by the reference shows whether that holds.
ORDINARY_TOOLS = frozenset(
    {
        "apt-utils",
        "asciinema",
        "bash",
        "bsdmainutils",
        "ca-certificates",
        "coreutils",
        "curl",
        "diffutils",
        "file",
        "findutils",
        "gawk",
        "git",
        "gnupg",
        "grep",
        "gzip",
        "less",
        "locales",
        "mawk",
        "nano",
        "net-tools",
        "patch",
        "procps",
        "psmisc",
        "python-is-python3",
        "python3",
        "python3-pip",
        "python3-pytest",
        "python3-venv",
        "ripgrep",
        "sed",
        "sudo",
        "tar",
        "tmux",
        "tree",
        "tzdata",
        "unzip",
        "util-linux",
        "vim",
        "wget",
        "xz-utils",
        "zip",
    }
)
#: Programs that do nothing but what their arguments say, in the folder where they are run.
_RUN_IN_THE_WORKSPACE = frozenset(
    (
        *("bash", "cat", "cp", "echo", "git", "head", "ln", "mkdir", "mv", "printf", "python", "python3"),
        *("rm", "sed", "sh", "tail", "tar", "test", "touch", "true"),
    )
)
_FETCH_COMMAND = re.compile(r"https?://|git@|\b(?:clone|fetch|pull|push)\b|<<")
_ABSOLUTE = re.compile(r"(?<![\w.:/~-])/[\w./-]*")
_PIP = re.compile(r"(?:python3? -m )?pip3? install ")
_PIP_FLAGS = frozenset(
    (
        *(
            "--no-cache-dir",
            "-q",
            "-qq",
            "--quiet",
            "--break-system-packages",
            "-U",
            "--upgrade",
            "--no-input",
        ),
        *("--user", "--root-user-action=ignore", "--disable-pip-version-check", "--no-warn-script-location"),
    )
)
_REQUIREMENT = re.compile(r"[A-Za-z0-9][\w.-]*(?:\[[\w,.-]+\])?(?:(?:==|>=|<=|~=|!=|<|>)[\w.*!+,<>=~-]+)?")
_APT = re.compile(r"(?:DEBIAN_FRONTEND=\S+ )?apt(?:-get)? (.*)")
_LISTS = re.compile(r"rm -rf (?:/var/lib/apt/lists(?:/\*)?|/var/cache/\S+|/root/\.cache\S*)")
_FOLDERS = re.compile(r"mkdir(?: -p| --parents)?((?: /[\w./-]*)+)")
#: Words by which a shell decides or repeats: what stands around them is one command.
_COMPOUND = frozenset(("if", "for", "while", "until", "case", "{", "("))
_EXECUTABLE_MODE = re.compile(r"\+x|[ugoa]+\+[rwX]*x\w*|0?[0-7]*[1357][0-7]{2}")


@dataclass(kw_only=True, slots=True)
class RunLine:
    """What one line asks for."""

    requirements: list[str] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)  # commands, to be run in the workspace
    executable: list[str] = field(default_factory=list)  # paths of files that are programs from here on
    tools: list[str] = field(default_factory=list)  # system packages that are done without
    folders: list[str] = field(default_factory=list)  # made empty outside of the workspace
    packages: list[str] = field(default_factory=list)  # system packages that a task may depend on
    foreign: list[str] = field(default_factory=list)  # commands that reach further than the workspace

    @property
    def reasons(self) -> list[str]:
        """One for the packages and one for the commands: a long line is not told in thirty sentences."""
        found: list[str] = []
        if self.packages:
            names = ", ".join(f"`{name[:60]}`" for name in self.packages)
            found.append(f"needs the system package{'s' * (len(self.packages) > 1)} {names}")
        if self.foreign:
            first, *others = self.foreign
            more = f" (and {len(others)} more of its commands)" if others else ""
            found.append(f"`RUN {first[:80]}` needs a container image{more}")
        return found


def read_run(rest: str, workdir: str | None) -> RunLine:
    found = RunLine()
    try:
        parts = list(_commands(rest))
    except ValueError:  # a quote that is not closed
        return RunLine(foreign=[rest])
    if any(part.split()[:1] and part.split()[0] in _COMPOUND for part in parts):
        return RunLine(foreign=[rest])
    for part in parts:
        _read_one(found, part, workdir)
    return found


def _read_one(found: RunLine, part: str, workdir: str | None) -> None:
    packages = plain_packages(part)
    apt = _APT.fullmatch(part)
    words = part.split()
    if packages is not None:
        found.requirements += packages
    elif apt is not None:
        _read_apt(found, apt[1], part)
    elif _LISTS.fullmatch(part):
        return
    elif (folders := _FOLDERS.fullmatch(part)) is not None and ".." not in part:
        _read_folders(found, folders[1].split(), workdir)
    elif not _stays_within(part, workdir):
        found.foreign.append(part)
    elif words[0] in ("chmod", "chown"):
        if words[0] == "chmod" and len(words) > 2 and _EXECUTABLE_MODE.fullmatch(words[1]):
            found.executable += words[2:]
    elif words[0] in _RUN_IN_THE_WORKSPACE and not _FETCH_COMMAND.search(part):
        found.setup.append(part)
    else:
        found.foreign.append(part)


def _read_folders(found: RunLine, folders: list[str], workdir: str | None) -> None:
    inside = [path for path in folders if workdir is not None and _is_below(path.rstrip("/"), workdir)]
    found.setup += [f"mkdir -p {' '.join(inside)}"] if inside else []
    found.folders += [path for path in folders if path not in inside]


def _read_apt(found: RunLine, rest: str, part: str) -> None:
    words = [word for word in rest.split() if not word.startswith("-")]
    if not words or words[0] in ("update", "clean", "autoclean", "autoremove"):
        return
    if words[0] != "install":
        found.foreign.append(part)
        return
    names = [word.partition("=")[0] for word in words[1:]]
    found.tools += [name for name in names if name in ORDINARY_TOOLS]
    found.packages += [name for name in names if name not in ORDINARY_TOOLS]


def _stays_within(part: str, workdir: str | None) -> bool:
    """Whether every absolute path in it is the workspace's, or nowhere."""
    return all(
        path == "/dev/null" or (workdir is not None and _is_below(path.rstrip("/"), workdir))
        for path in _ABSOLUTE.findall(part)
    )


def _is_below(path: str, folder: str) -> bool:
    return ".." not in path.split("/") and (path == folder or path.startswith(f"{folder.rstrip('/')}/"))


def _commands(rest: str) -> Iterator[str]:
    """The commands of a line that are run one after the other; quoted signs part nothing."""
    lexer = shlex.shlex(rest, posix=False, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    held: list[str] = []
    for word in lexer:
        if word in ("&&", ";"):
            yield " ".join(held)
            held = []
        else:
            held.append(word)
    if held:
        yield " ".join(held)


def plain_packages(command: str) -> list[str] | None:
    """Of a plain `pip install` of names; None of anything else."""
    found = _PIP.match(command)
    if found is None:
        return None
    try:
        words = shlex.split(command[found.end() :])
    except ValueError:
        return None
    names = [word for word in words if word not in _PIP_FLAGS]
    return names if names and all(is_requirement(name) for name in names) else None


def is_requirement(text: str) -> bool:
    """A package by its name, with a version or without: no file, no address, no option."""
    return _REQUIREMENT.fullmatch(text) is not None
