"""The `config` of a code endpoint: Python files, which of their functions are tools, and what those may use.

    {"source": "def get_price(sku: str) -> dict: …"}
    {"files": {"shop/prices.py": "…", "shop/__init__.py": ""}, "functions": ["shop/prices.py:get_price"],
     "requirements": ["httpx>=0.27"], "env_vars": ["SHOP_KEY"], "allow_hosts": ["api.shop.example"]}

One of `source` (a single file), `files` and `zip` (base64) holds the code. Without `functions` every function
that a single file defines is a tool, but for those whose name begins with `_`.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.core.code.allowed_hosts import AllowedHost, read_allow_hosts
from pipelines.core.code.code_secrets import CREDENTIAL_NAME, MOST_SECRETS, NAME_RULE, name_complaint
from pipelines.core.code.code_source import MAX_FILE_BYTES, read_files
from pipelines.core.code.code_tree import CodeFile, pack_tree
from pipelines.core.code.code_zip import read_archive
from pipelines.core.text.authored import Fields, kind
from pipelines.core.text.json_text import JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.wire.records import Record

CODE_FIELDS = ("source", "files", "zip", "functions", "requirements", "env_vars", "allow_hosts")
SOURCE_FILE = "functions.py"
MOST_FUNCTIONS = 200
MAX_ZIP_BYTES = 4 * 1024 * 1024  # it is stored with the endpoint; packages belong in `requirements`
MAX_UNPACKED_BYTES = 20 * 1024 * 1024
_ENTRY = re.compile(
    r"(?:(?P<file>(?:[A-Za-z_]\w*/)*[A-Za-z_]\w*\.py):)?(?P<function>[A-Za-z_]\w{0,127})", re.ASCII
)
_HOW = "write the file and the function, as shop/prices.py:get_price"


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionEntry(Record):
    file: str  # with forward slashes, from the top of the code
    function: str | None  # None: every one that the file defines


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeConfig:
    archive: bytes = field(repr=False)  # of all files
    hash: str  # of their content
    functions: tuple[FunctionEntry, ...]
    requirements: tuple[str, ...] = ()
    env_vars: Mapping[str, str] = field(default_factory=dict)  # variable -> name of the org's credential
    allow_hosts: tuple[AllowedHost, ...] = ()

    @property
    def modules(self) -> tuple[str, ...]:
        """The files to import, each once."""
        return tuple(dict.fromkeys(entry.file for entry in self.functions))


def read_code_config(body: JsonObject, path: str = "/config") -> CodeConfig:
    """The config, or Refused with everything wrong with it. Blocking: reading a megabyte takes a tenth of a
    second, so the server does it on a thread."""
    problems: list[Problem] = []
    fields = Fields(body, path, problems)
    fields.refuse_unknown(CODE_FIELDS)
    archive, names = _read_code(fields)
    functions = _read_functions(fields, names)
    requirements = fields.texts("requirements")
    env_vars = read_env_vars(fields)
    hosts = read_allow_hosts(fields.texts("allow_hosts"), fields.at("allow_hosts"), problems)
    if problems:
        raise Refused(problems, "the code endpoint")
    return CodeConfig(
        archive=archive,
        hash=hashlib.sha256(archive).hexdigest(),
        functions=functions,
        requirements=requirements,
        env_vars=env_vars,
        allow_hosts=hosts,
    )


def read_env_vars(fields: Fields) -> dict[str, str]:
    """Variables with the credential of each. A list of names gives each credential's own name."""
    given = fields.get("env_vars")
    pairs = given if isinstance(given, dict) else {name: name for name in fields.texts("env_vars")}
    found: dict[str, str] = {}
    for variable, credential in pairs.items():
        place = fields.at("env_vars") + (pointer([variable]) if isinstance(given, dict) else "")
        complaint = name_complaint(variable) or _platform_variable_complaint(variable)
        if complaint is not None:
            fields.problems.append(Problem(path=place, message=f"`{variable[:120]}` {complaint}"))
        elif not isinstance(credential, str):
            message = f"must be the name of a credential, not {kind(credential)}"
            fields.problems.append(Problem(path=place, message=message))
        elif CREDENTIAL_NAME.fullmatch(credential) is None:
            # Not quoted: somebody may have written the secret itself.
            hint = "store it with POST /api/credentials and write its name here, never a value"
            message = f"the value of `{variable}` is not a valid credential name: {NAME_RULE}"
            fields.problems.append(Problem(path=place, message=message, hint=hint))
        else:
            found[variable] = credential
    if len(pairs) > MOST_SECRETS:
        fields.refuse("env_vars", f"`env_vars` names more than {MOST_SECRETS} credentials")
    return found


def _platform_variable_complaint(variable: str) -> str | None:
    is_ours = variable.upper() in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "SSL_CERT_FILE")
    return "is set by the platform, for access to `allow_hosts`" if is_ours else None


def _read_code(fields: Fields) -> tuple[bytes, tuple[str, ...]]:
    """The files as an archive, and their names."""
    given = [name for name in ("source", "files", "zip") if fields.has(name)]
    if len(given) != 1:
        complaint = f"has {' and '.join(f'`{name}`' for name in given)}" if given else "has no code"
        hint = "give one of `source` (the text of one file), `files` and `zip`"
        fields.problems.append(Problem(path=fields.path, message=complaint, hint=hint))
        return b"", ()
    if given == ["zip"]:
        return _read_zip(fields)
    if given == ["files"]:
        uploaded = read_files(fields)
        files = uploaded.files if uploaded is not None else ()
    else:
        text = fields.text("source", longest=MAX_FILE_BYTES) or ""
        files = (CodeFile(SOURCE_FILE, text.encode("utf-8", "replace")),)
    return pack_tree(files), tuple(file.path for file in files)


def _read_zip(fields: Fields) -> tuple[bytes, tuple[str, ...]]:
    text = fields.text("zip") or ""
    if len(text) > MAX_ZIP_BYTES * 4 // 3:
        fields.refuse("zip", f"`zip` is over {MAX_ZIP_BYTES // 1024 // 1024} MiB")
        return b"", ()
    try:
        archive = read_archive(base64.b64decode(text, validate=True))
    except binascii.Error:
        fields.refuse("zip", "`zip` is not base64", "send the archive's bytes in base64")
        return b"", ()
    except Refused as refused:
        place = fields.at("zip")
        fields.problems += [
            Problem(path=place, message=each.said(), hint=each.hint) for each in refused.problems
        ]
        return b"", ()
    if archive.unpacked_bytes > MAX_UNPACKED_BYTES:
        fields.refuse("zip", f"`zip` unpacks to more than {MAX_UNPACKED_BYTES // 1024 // 1024} MiB")
    return archive.raw, archive.paths


def _read_functions(fields: Fields, names: tuple[str, ...]) -> tuple[FunctionEntry, ...]:
    alone = [name for name in names if "/" not in name and name.endswith(".py")]
    if not fields.get("functions"):
        if len(alone) == 1:
            return (FunctionEntry(file=alone[0], function=None),)
        if names:
            fields.refuse("functions", "`functions` is missing", _HOW)
        return ()
    listed = fields.texts("functions")
    if len(listed) > MOST_FUNCTIONS:
        fields.refuse("functions", f"`functions` names more than {MOST_FUNCTIONS}")
        return ()
    found: dict[str, FunctionEntry] = {}
    for index, text in enumerate(listed):
        entry = _entry(text, names, alone)
        complaint = entry if isinstance(entry, str) else _duplicate_complaint(entry, found)
        if complaint is not None:
            place = fields.at("functions") + pointer([index])
            fields.problems.append(Problem(path=place, message=f"`{text[:200]}` {complaint}", hint=_HOW))
        elif isinstance(entry, FunctionEntry):
            found[str(entry.function)] = entry
    return tuple(found.values())


def _entry(text: str, names: tuple[str, ...], alone: list[str]) -> FunctionEntry | str:
    match = _ENTRY.fullmatch(text)
    if match is None:
        return "has no function name"
    file = match["file"] or (alone[0] if len(alone) == 1 else None)
    if file is None:
        return "does not name its file"
    if names and file not in names:
        return f"is in `{file}`, which is not among the files"
    return FunctionEntry(file=file, function=match["function"])


def _duplicate_complaint(entry: FunctionEntry, found: Mapping[str, FunctionEntry]) -> str | None:
    known = found.get(str(entry.function))
    if known is None:
        return None
    return "is listed twice" if known == entry else f"has the name of one in `{known.file}`"
