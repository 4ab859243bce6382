"""Reads a Dockerfile that only copies files and installs Python packages, so that no container is needed.

Any other instruction is reported with its line, and the task is refused: running only part of it would be
another task.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from pipelines.core.coding.imported import Tree, TreeFile
from pipelines.core.coding.run_lines import read_run

#: Images that bring nothing but a system, or a Python: what a sandbox of ours has, too.
PLAIN_BASES = ("python", "debian", "ubuntu", "buildpack-deps")
#: Variables of an image's build or of how Python prints: none of them is part of a task.
_OUTPUT_VARIABLES = frozenset(
    (
        *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUTF8", "LANG", "LC_ALL"),
        *("DEBIAN_FRONTEND", "PIP_NO_CACHE_DIR", "PIP_DISABLE_PIP_VERSION_CHECK", "PIP_ROOT_USER_ACTION"),
    )
)
_OFFICIAL = ("docker.io/library/", "library/", "public.ecr.aws/docker/library/")
#: Where the range itself puts tests, rewards and the solution.
_OWN_FOLDERS = ("logs", "tests", "solution", "tmp")
#: They say how a container is run, and nothing about what is in it.
_WITHOUT_EFFECT = ("CMD", "ENTRYPOINT", "LABEL", "MAINTAINER", "EXPOSE", "STOPSIGNAL", "SHELL")


@dataclass(kw_only=True, slots=True)
class ImageBuild:
    """What is known of an image while its Dockerfile is read."""

    workdir: str | None = None
    files: dict[str, TreeFile] = field(default_factory=dict)  # by absolute path
    requirements: list[str] = field(default_factory=list)
    env_vars: dict[str, str] = field(default_factory=dict)
    setup: list[str] = field(default_factory=list)  # commands, to be run in the folder
    folders: list[str] = field(default_factory=list)  # made empty, outside of where it worked then
    reasons: list[str] = field(default_factory=list)  # why it needs an image
    notes: list[str] = field(default_factory=list)

    def below(self, folder: str) -> dict[str, TreeFile]:
        """The files in this folder, by their path in it; those elsewhere are reasons."""
        inside: dict[str, TreeFile] = {}
        for path, file in self.files.items():
            if path.startswith(f"{folder.rstrip('/')}/"):
                inside[path.removeprefix(f"{folder.rstrip('/')}/")] = file
            else:
                self.reasons.append(f"copies `{path}` outside of {folder}, where the agent works")
        return inside

    def make_folders(self, folder: str) -> None:
        """Empty folders that were made before the image worked in this one: those in it are made first, the
        range's own are there anyway. A task that needs another fails its proof."""
        inside, others = [], []
        for path in without_doubles([f"/{path.strip('/')}" for path in self.folders]):
            if path.startswith(f"{folder.rstrip('/')}/"):
                inside.append(path)
            elif path != folder and path.split("/")[1] not in _OWN_FOLDERS:
                others.append(path)
        self.setup[:0] = [f"mkdir -p {' '.join(inside)}"] if inside else []
        if others:
            named = f"{'folders' if len(others) > 1 else 'folder'} {', '.join(others)}"
            self.notes.append(f"its image has the empty {named}; only {folder} is kept here")


def read_dockerfile(text: str, context: Tree) -> ImageBuild:
    built = ImageBuild()
    bases = 0
    for number, word, rest in _instructions(text):
        if word == "FROM":
            bases += 1
            _base(built, rest, number, is_first=bases == 1)
        elif word in _READERS:
            _READERS[word](built, rest, number, context)
        elif word not in _WITHOUT_EFFECT:
            built.reasons.append(f"Dockerfile line {number}: `{word} {rest[:60]}` needs a container image")
    if not bases:
        built.reasons.append("its Dockerfile has no FROM")
    return built


def image_complaint(image: str) -> str | None:
    """Why an image cannot be done without; None where it only brings a system."""
    name = image.partition("@")[0]
    stem = name.rpartition("/")[2].partition(":")[0]
    is_official = "/" not in name or name.startswith(_OFFICIAL)
    return None if is_official and stem in PLAIN_BASES else f"needs the container image `{image[:120]}`"


def _instructions(text: str) -> list[tuple[int, str, str]]:
    """Line, word and the rest of each; lines that a backslash goes on with are one."""
    found: list[tuple[int, str, str]] = []
    held, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("#") or (not stripped and not held):
            continue
        first = first if held else number
        if stripped.endswith("\\"):
            held += stripped[:-1].strip() + " "
            continue
        word, _, rest = (held + stripped).strip().partition(" ")
        held = ""
        found.append((first, word.upper(), rest.strip()))
    return found


def _base(built: ImageBuild, rest: str, number: int, *, is_first: bool) -> None:
    words = [word for word in rest.split() if not word.startswith("--")]
    if not is_first or len(words) > 1:
        built.reasons.append(f"Dockerfile line {number}: a build of several stages needs a container image")
    elif not words or (complaint := image_complaint(words[0])) is not None:
        built.reasons.append(f"Dockerfile line {number}: {complaint if words else 'FROM names no image'}")
    else:
        built.notes.append(f"written for the image {words[0]}; here it runs with the server's own Python")


def _workdir(built: ImageBuild, rest: str, number: int, context: Tree) -> None:
    path = _absolute(built, rest.strip("\"'"))
    if "$" in rest:
        built.reasons.append(f"Dockerfile line {number}: `WORKDIR {rest[:60]}` depends on a variable")
    built.workdir = path


def _env(built: ImageBuild, rest: str, number: int, context: Tree) -> None:
    try:
        words = shlex.split(rest)
    except ValueError:
        words = []
    pairs = [word.partition("=") for word in words]
    if words and "=" not in words[0] and len(words) > 1:  # the old form: ENV NAME the value
        pairs = [(words[0], "=", " ".join(words[1:]))]
    if not pairs or any(not sep for _, sep, _ in pairs) or "$" in rest:
        built.reasons.append(f"Dockerfile line {number}: `ENV {rest[:60]}` cannot be read without an image")
        return
    for name, _, value in pairs:
        if name in _OUTPUT_VARIABLES:
            built.notes.append(f"its image sets {name}, which the platform sets itself")
        else:
            built.env_vars[name] = value


def _user(built: ImageBuild, rest: str, number: int, context: Tree) -> None:
    built.notes.append(f"its image runs as the user {rest[:40]}; here it runs without privileges")


def _run(built: ImageBuild, rest: str, number: int, context: Tree) -> None:
    """Packages, modes, and what can be run in the workspace; a folder below it is there anyway."""
    found = read_run(rest, built.workdir)
    built.requirements += found.requirements
    built.setup += found.setup
    built.folders += found.folders
    built.reasons += [f"Dockerfile line {number}: {reason}" for reason in found.reasons]
    if found.tools:
        tools = ", ".join(found.tools)
        built.notes.append(f"its image installs {tools}; here only the server's own tools are available")
    for path in (_absolute(built, each) for each in found.executable):
        for name in [name for name in built.files if name == path or name.startswith(f"{path}/")]:
            built.files[name] = replace(built.files[name], is_executable=True)


def _copy(built: ImageBuild, rest: str, number: int, context: Tree) -> None:
    words = _copy_arguments(rest)
    options = [word for word in words if word.startswith("--")]
    names = [word for word in words if not word.startswith("--")]
    if any(not option.startswith(("--chown=", "--chmod=", "--link")) for option in options) or len(names) < 2:
        built.reasons.append(f"Dockerfile line {number}: `COPY {rest[:80]}` needs a container image")
        return
    *sources, target = names
    for source in sources:
        if "://" in source or any(sign in source for sign in "*?[$") or ".." in source.split("/"):
            built.reasons.append(
                f"Dockerfile line {number}: `{source[:80]}` cannot be copied without an image"
            )
        elif not _copy_one(built, source, target, context, is_folder=len(sources) > 1):
            built.reasons.append(f"Dockerfile line {number}: there is no `{source[:80]}` in environment/")


def _copy_arguments(rest: str) -> list[str]:
    try:
        if rest.startswith("["):
            return [str(word) for word in json.loads(rest)]
        return shlex.split(rest)
    except ValueError:
        return []


def _copy_one(built: ImageBuild, source: str, target: str, context: Tree, *, is_folder: bool) -> bool:
    """As Docker does it: a folder's content goes into the target, a file under its name or the target's."""
    place = source.removeprefix("./").strip("/")
    place = "" if place == "." else place
    base = _absolute(built, target)
    if place in context:
        goes_inside = is_folder or target.endswith("/") or target in (".", "./")
        name = f"{base.rstrip('/')}/{PurePosixPath(place).name}" if goes_inside else base
        built.files[name] = context[place]
        return True
    inside = [path for path in context if not place or path.startswith(f"{place}/")]
    for path in inside:
        if place or path not in ("Dockerfile", ".dockerignore"):
            built.files[f"{base.rstrip('/')}/{path.removeprefix(place).lstrip('/')}"] = context[path]
    return bool(inside) or not place


def _absolute(built: ImageBuild, path: str) -> str:
    whole = path if path.startswith("/") else f"{built.workdir or ''}/{path}"
    parts = [part for part in whole.split("/") if part not in ("", ".")]
    return "/" + "/".join(parts)


_READERS = {"WORKDIR": _workdir, "ENV": _env, "USER": _user, "RUN": _run, "COPY": _copy, "ADD": _copy}


def without_doubles(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))
