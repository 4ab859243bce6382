"""Where a code agent's source comes from: the `code` object of an agent, read strictly.

    {"source": "paste", "text": "def run(…): …"}
    {"source": "files", "files": {"agent.py": "…", "lib/prices.py": "…"}}
    {"source": "git", "url": "https://…", "ref": "main", "directory": "agents/refund"}

A zip archive is no JSON and comes by itself (`core/code/code_zip.py`).
"""

import re
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from pipelines.core.code.code_tree import CodeFile, name_problems
from pipelines.core.text.authored import Fields, as_object, kind
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.stored import known_fields
from pipelines.core.text.url_host import host_complaint
from pipelines.wire.records import Record

SOURCES = ("paste", "files", "zip", "git")
KIBIBYTE = 1024
MAX_FILE_BYTES = 200 * KIBIBYTE
MAX_FILES = 50
MAX_FILES_BYTES = 1024 * KIBIBYTE
DEFAULT_ENTRYPOINT = "agent.py"
DEFAULT_REF = "HEAD"
LONGEST_URL = 2_048

_OWN_FIELDS = {"paste": ("text",), "files": ("files",), "zip": (), "git": ("url", "ref", "directory")}
_REF = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._+/-]{0,198}[A-Za-z0-9_+-])?")
_WHAT = "the code"


@dataclass(frozen=True, kw_only=True, slots=True)
class UploadedFiles:
    """Files that came with the request: pasted as one, or several."""

    source: str  # paste, files
    files: tuple[CodeFile, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class GitSource(Record):
    url: str
    ref: str = DEFAULT_REF
    directory: str = ""  # of the repository, without slashes around it; "" is all of it


CodeSource: TypeAlias = UploadedFiles | GitSource


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeOrigin:
    """Where stored code came from; what git alone has is None for the others."""

    source: str  # one of SOURCES
    git: GitSource | None = None
    commit: str | None = None

    def as_json(self) -> JsonObject:
        if self.git is None:
            return {"source": self.source}
        return {"source": self.source, **self.git.as_json(), "commit": self.commit}


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeRecord:
    """What an agent version keeps of its code: where it came from, what it is called, how much it is."""

    origin: CodeOrigin
    hash: str  # of the content, by which it is stored
    files: int
    bytes: int  # unpacked
    entrypoint: str  # what is called, also where the author left it to us

    def as_json(self) -> JsonObject:
        own: JsonObject = {"hash": self.hash, "files": self.files, "bytes": self.bytes}
        return {**self.origin.as_json(), **own, "entrypoint": self.entrypoint}

    @classmethod
    def from_stored(cls, body: Any) -> "CodeRecord":
        """From what `as_json` wrote."""
        git = GitSource(**known_fields(GitSource, body)) if body["source"] == "git" else None
        origin = CodeOrigin(source=body["source"], git=git, commit=body.get("commit"))
        return cls(**{**known_fields(cls, body), "origin": origin})


def read_code_source(value: Json, *, entrypoint: str, allow_http: bool, path: str = "/code") -> CodeSource:
    """The source, or Refused with everything wrong with it. Pasted text becomes the file `entrypoint`."""
    problems: list[Problem] = []
    body = as_object(value, path, problems, "`code`")
    source = None
    if body is not None:
        fields = Fields(body, path, problems)
        fields.require("source", "one of paste, files, git")
        name = fields.choice("source", SOURCES)
        if name is not None:
            fields.refuse_unknown(("source", *_OWN_FIELDS[name]))
            source = _read(name, fields, entrypoint, allow_http=allow_http)
    if problems or source is None:
        raise Refused(problems, _WHAT)
    return source


def _read(name: str, fields: Fields, entrypoint: str, *, allow_http: bool) -> CodeSource | None:
    match name:
        case "paste":
            return _read_paste(fields, entrypoint)
        case "files":
            return read_files(fields)
        case "git":
            return _read_git(fields, allow_http=allow_http)
    hint = "register the agent as a draft, then PUT the archive to /api/agents/{id}/code and publish it"
    fields.refuse("source", "a zip archive cannot be sent as JSON", hint)
    return None


def _read_paste(fields: Fields, entrypoint: str) -> UploadedFiles:
    fields.require("text")
    content = _content(fields.get("text"), fields.at("text"), fields.problems, "`text`")
    fields.problems += name_problems([entrypoint], lambda _: "/entrypoint")
    return UploadedFiles(source="paste", files=(CodeFile(entrypoint, content),))


def read_files(fields: Fields) -> UploadedFiles | None:
    """The field `files`: texts by their paths."""
    place = fields.at("files")
    if not fields.require("files", 'such as {"agent.py": "…"}'):
        return None
    listed = as_object(fields.get("files"), place, fields.problems, "`files`")
    if listed is None:
        return None

    def at(path: str) -> str:
        return place + pointer([path[:200]])

    if not listed:
        fields.refuse("files", "`files` is empty", 'such as {"agent.py": "…"}')
    if len(listed) > MAX_FILES:
        hint = "send a zip archive, or a git URL"
        fields.refuse("files", f"`files` has {len(listed)} files; at most {MAX_FILES} are allowed", hint)
    fields.problems += name_problems(listed, at)
    files = tuple(
        CodeFile(path, _content(text, at(path), fields.problems, f"`{path[:120]}`"))
        for path, text in listed.items()
    )
    whole = sum(len(file.content) for file in files)
    if whole > MAX_FILES_BYTES:
        most = MAX_FILES_BYTES // KIBIBYTE
        fields.refuse(
            "files", f"`files` have {whole // KIBIBYTE:,} KB in all; at most {most:,} KB are allowed"
        )
    return UploadedFiles(source="files", files=files)


def _content(text: Json, place: str, problems: list[Problem], what: str) -> bytes:
    if not isinstance(text, str):
        if text is not None or what != "`text`":  # that it is missing has been said
            problems.append(Problem(path=place, message=f"{what} must be a string, not {kind(text)}"))
        return b""
    try:
        content = text.encode()
    except UnicodeEncodeError:
        problems.append(Problem(path=place, message=f"{what} has a lone surrogate, which is not a character"))
        return b""
    if len(content) > MAX_FILE_BYTES:
        size, most = len(content) // KIBIBYTE, MAX_FILE_BYTES // KIBIBYTE
        problems.append(Problem(path=place, message=f"{what} has {size:,} KB; at most {most} KB are allowed"))
    return content


def _read_git(fields: Fields, *, allow_http: bool) -> GitSource | None:
    fields.require("url", "such as https://git.example.com/team/agent.git")
    url = fields.text("url", longest=LONGEST_URL)
    complaint = git_url_complaint(url, allow_http=allow_http) if url is not None else None
    if complaint is not None:
        fields.refuse("url", f"`url` {complaint}", "such as https://git.example.com/team/agent.git")
    ref = fields.text("ref") or DEFAULT_REF
    if not is_git_ref(ref):
        hint = "a branch, a tag, or a full commit id"
        fields.refuse("ref", f"`{ref[:80]}` is not a valid branch, tag or commit", hint)
    directory = (fields.text("directory", may_be_blank=True) or "").strip("/")
    if directory:
        fields.problems += name_problems([directory], lambda _: fields.at("directory"))
    return GitSource(url=url or "", ref=ref, directory=directory)


def is_git_ref(text: str) -> bool:
    """Only what git itself takes for a name and no program could take for an option or a range."""
    return _REF.fullmatch(text) is not None and ".." not in text and "//" not in text and ".lock" not in text


def git_url_complaint(url: str, *, allow_http: bool) -> str | None:
    """Git has many spellings of `run this` and `read that file`; only plain web addresses are taken."""
    if not url.isascii() or not url.isprintable() or " " in url:
        return "has characters that are not allowed in a URL"
    try:
        parts = urlsplit(url)
        _ = parts.hostname, parts.port
    except ValueError as error:
        return f"is not a URL: {error}"
    schemes = ("https", "http") if allow_http else ("https",)
    if not url.startswith(tuple(f"{scheme}://" for scheme in schemes)):
        return f"must start with {' or '.join(f'{scheme}://' for scheme in schemes)}"
    if "@" in parts.netloc:
        return "contains credentials, which everyone in the org could read"
    if complaint := host_complaint(parts):
        return complaint
    if parts.query or parts.fragment or not parts.path.strip("/"):
        return "must be the URL of a repository, without a query or fragment"
    return None
