"""What a workspace starts from: a git repository at a ref, an archive, files, or nothing."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pipelines.core.code.code_source import DEFAULT_REF, LONGEST_URL, git_url_complaint, is_git_ref
from pipelines.core.code.code_tree import name_problems
from pipelines.core.coding.paths import path_complaint
from pipelines.core.text.authored import Fields, as_object, kind
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem
from pipelines.core.text.stored import known_fields

TYPES = ("git", "archive", "files", "empty")
MOST_FILES = 2_000
MAX_FILES_BYTES = 4 * 1024 * 1024
MAX_ARCHIVE_BYTES = 5 * 1024 * 1024  # packed; more than that is a repository's
_OWN_FIELDS = {"git": ("url", "ref"), "archive": ("data",), "files": ("files",), "empty": ()}
_ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
GIT_EXAMPLE = "such as https://git.example.com/team/project.git"


@dataclass(frozen=True, kw_only=True, slots=True)
class GitSeed:
    url: str
    ref: str = DEFAULT_REF  # a branch, a tag or a commit

    def as_json(self) -> JsonObject:
        return {"type": "git", "url": self.url, "ref": self.ref}


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchiveSeed:
    """A zip or tar archive, as base64."""

    data: str = field(repr=False)

    def as_json(self) -> JsonObject:
        return {"type": "archive", "data": self.data}


@dataclass(frozen=True, kw_only=True, slots=True)
class FilesSeed:
    files: Mapping[str, str]  # texts by path

    def as_json(self) -> JsonObject:
        return {"type": "files", "files": dict(self.files)}


@dataclass(frozen=True, kw_only=True, slots=True)
class EmptySeed:
    def as_json(self) -> JsonObject:
        return {"type": "empty"}


WorkspaceSeed: TypeAlias = GitSeed | ArchiveSeed | FilesSeed | EmptySeed
_RECORDS: dict[str, type[Any]] = {
    "git": GitSeed,
    "archive": ArchiveSeed,
    "files": FilesSeed,
    "empty": EmptySeed,
}


def seed_from_stored(body: Any) -> WorkspaceSeed:
    record = _RECORDS[body["type"]]
    seed: WorkspaceSeed = record(**known_fields(record, body))
    return seed


def read_workspace_seed(
    value: Json, path: str, problems: list[Problem], *, allow_http: bool = False
) -> WorkspaceSeed | None:
    """Text is the URL of a git repository, with `#ref` or without."""
    if isinstance(value, str):
        url, _, ref = value.strip().partition("#")
        value = {"type": "git", "url": url, "ref": ref or DEFAULT_REF}
    body = as_object(value, path, problems, "`workspace_seed`")
    if body is None:
        return None
    fields = Fields(body, path, problems)
    fields.require("type", "one of git, archive, files, empty")
    type = fields.choice("type", TYPES)
    if type is None:
        return None
    fields.refuse_unknown(("type", *_OWN_FIELDS[type]))
    match type:
        case "git":
            return _read_git(fields, allow_http=allow_http)
        case "archive":
            return _read_archive(fields)
        case "files":
            return _read_files(fields)
    return EmptySeed()


def _read_git(fields: Fields, *, allow_http: bool) -> GitSeed | None:
    fields.require("url", GIT_EXAMPLE)
    url = fields.text("url", longest=LONGEST_URL)
    complaint = git_url_complaint(url, allow_http=allow_http) if url is not None else None
    if complaint is not None:
        fields.refuse("url", f"`url` {complaint}", GIT_EXAMPLE)
    ref = fields.text("ref") or DEFAULT_REF
    if not is_git_ref(ref):
        hint = "a branch, a tag, or a whole commit id"
        fields.refuse("ref", f"`{ref[:80]}` is not a valid branch, tag or commit", hint)
    return GitSeed(url=url, ref=ref) if url is not None else None


def _read_archive(fields: Fields) -> ArchiveSeed | None:
    fields.require("data", "a zip or tar archive in base64")
    data = fields.text("data", longest=MAX_ARCHIVE_BYTES * 4 // 3 + 4)
    if data is None:
        return None
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        fields.refuse("data", "`data` is not base64")
        return None
    if not raw.startswith(_ARCHIVES) and raw[257:262] != b"ustar":
        fields.refuse("data", "`data` is neither a zip nor a tar archive")
    return ArchiveSeed(data=data)


def _read_files(fields: Fields) -> FilesSeed | None:
    if not fields.require("files", 'such as {"src/sum.py": "…"}'):
        return None
    return FilesSeed(files=read_texts(fields, "files"))


def read_texts(fields: Fields, key: str, *, also_below: str | None = None) -> dict[str, str]:
    """Texts by path. `also_below` is a folder outside of the workspace where they may lie, too."""
    listed = as_object(fields.get(key), fields.at(key), fields.problems, f"`{key}`") or {}
    if len(listed) > MOST_FILES:
        hint = "send an archive, or name a git repository"
        fields.refuse(key, f"`{key}` has {len(listed):,} files; at most {MOST_FILES:,} are allowed", hint)
        return {}

    def at(path: str) -> str:
        return fields.at(key) + pointer([path[:200]])

    inside = [path for path in listed if not _is_below(path, also_below)]
    for path in inside:
        if (complaint := path_complaint(path)) is not None:
            fields.problems.append(Problem(path=at(path), message=f"`{path[:120]}` {complaint}"))
    good = [path for path in inside if path_complaint(path) is None]
    fields.problems += name_problems(good, at)
    texts: dict[str, str] = {}
    for path, text in listed.items():
        if isinstance(text, str) and "\0" not in text and _is_whole(text):
            texts[path] = text
        else:
            found = kind(text) if not isinstance(text, str) else "one with a NUL or a lone surrogate"
            fields.problems.append(Problem(path=at(path), message=f"must be a text, not {found}"))
    size = sum(len(text.encode()) for text in texts.values())
    if size > MAX_FILES_BYTES:
        most = MAX_FILES_BYTES >> 20
        fields.refuse(key, f"`{key}` have {size >> 10:,} KB in all; at most {most} MiB are allowed")
    return texts


def _is_below(path: str, folder: str | None) -> bool:
    return folder is not None and path.startswith(f"{folder}/") and path_complaint(path[1:]) is None


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
