"""The config of a code endpoint: Python source, which of its functions are tools, and what they may use."""

from pipelines.core.code.code_secrets import MOST_SECRETS, name_complaint
from pipelines.core.endpoints.credential_reference import CredentialReference, read_credential
from pipelines.core.text.authored import Fields, as_object, kind
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem

CODE_FIELDS = ("source", "files", "zip", "functions", "requirements", "env_vars", "allow_hosts")
SOURCES = ("source", "files", "zip")
MAX_SOURCE_BYTES = 1024 * 1024
MAX_ZIP_CHARACTERS = 8 * 1024 * 1024  # of base64
MOST_FILES = 200
MOST_FUNCTIONS = 200
MOST_REQUIREMENTS = 200
MOST_HOSTS = 100
LONGEST_ENTRY = 500  # characters of a requirement, a host or the name of a function


def read_code_config(fields: Fields, wanted: list[CredentialReference]) -> JsonObject:
    """In its normal form, with the one of `source`, `files` and `zip` that was given."""
    given = [key for key in SOURCES if fields.has(key)]
    if len(given) != 1:
        wrong = f"gives {' and '.join(f'`{key}`' for key in given)}" if given else "has no source"
        hint = "`source`: the text of one file; `files`: texts by path; or `zip`: an archive in base64"
        fields.problems.append(Problem(path=fields.path, message=f"the config {wrong}", hint=hint))
    config: JsonObject = {}
    for key in given:
        config[key] = _read_files(fields) if key == "files" else _read_source(fields, key)
    return config | {
        "functions": _entries(fields, "functions", MOST_FUNCTIONS),
        "requirements": _entries(fields, "requirements", MOST_REQUIREMENTS),
        "env_vars": read_env_vars(fields, wanted),
        "allow_hosts": _read_hosts(fields),
    }


def read_env_vars(fields: Fields, wanted: list[CredentialReference]) -> JsonObject:
    """Credentials by variable name. A list of names sets each as the variable of its own name."""
    value = fields.get("env_vars")
    if value is None:
        return {}
    if isinstance(value, list):
        names = fields.texts("env_vars")
        places = {name: fields.at("env_vars") + pointer([index]) for index, name in enumerate(names)}
        listed: JsonObject = {name: name for name in names}
        return _read_variables(Fields(listed, fields.at("env_vars"), fields.problems, places=places), wanted)
    body = as_object(value, fields.at("env_vars"), fields.problems, "`env_vars`")
    return _read_variables(Fields(body or {}, fields.at("env_vars"), fields.problems), wanted)


def _read_variables(variables: Fields, wanted: list[CredentialReference]) -> JsonObject:
    if len(variables.body) > MOST_SECRETS:
        message = f"has {len(variables.body)} variables; at most {MOST_SECRETS} are allowed"
        variables.problems.append(Problem(path=variables.path, message=message))
        return {}
    found: JsonObject = {}
    for name in variables.body:
        complaint = name_complaint(name)
        if complaint is not None:
            variables.refuse(name, f"`{name[:80]}` {complaint}")
        else:
            found[name] = read_credential(variables, name, wanted)
    return found


def _read_source(fields: Fields, key: str) -> str:
    text = fields.text(key, longest=MAX_ZIP_CHARACTERS if key == "zip" else None) or ""
    if key == "source":
        _check_size(fields, key, text)
    return text


def _read_files(fields: Fields) -> JsonObject:
    body = as_object(fields.get("files"), fields.at("files"), fields.problems, "`files`") or {}
    if len(body) > MOST_FILES:
        hint = "send a zip archive"
        fields.refuse("files", f"`files` has {len(body)} files; at most {MOST_FILES} are allowed", hint)
    for path, text in body.items():
        if not isinstance(text, str):
            place = fields.at("files") + pointer([path[:200]])
            message = f"`{path[:120]}` must be a string, not {kind(text)}"
            fields.problems.append(Problem(path=place, message=message))
    _check_size(fields, "files", "".join(text for text in body.values() if isinstance(text, str)))
    return body


def _check_size(fields: Fields, key: str, text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_SOURCE_BYTES:
        fields.refuse(
            key, f"`{key}` has {size >> 10:,} KB; at most {MAX_SOURCE_BYTES >> 10:,} KB are allowed"
        )


def _entries(fields: Fields, key: str, most: int) -> list[Json]:
    """A list of short texts."""
    value = fields.get(key)
    if key == "functions" and isinstance(value, str):
        fields.refuse(key, "`functions` must be a list of function names", "send the source text as `source`")
        return []
    texts = fields.texts(key)
    if len(texts) > most:
        fields.refuse(key, f"`{key}` has {len(texts)} entries; at most {most} are allowed")
        return []
    for index, text in enumerate(texts):
        if len(text) > LONGEST_ENTRY:
            message = f"has {len(text):,} characters; at most {LONGEST_ENTRY} are allowed"
            fields.problems.append(Problem(path=fields.at(key) + pointer([index]), message=message))
    return [*texts]


def _read_hosts(fields: Fields) -> list[Json]:
    """Host names; how each is compared is for whoever connects."""
    hosts = _entries(fields, "allow_hosts", MOST_HOSTS)
    for index, host in enumerate(hosts):
        if any(mark in str(host) for mark in "/@ ?#"):
            place = fields.at("allow_hosts") + pointer([index])
            message = f"`{str(host)[:80]}` is not a host name"
            hint = "give a name without scheme and path, such as api.example.com"
            fields.problems.append(Problem(path=place, message=message, hint=hint))
    return hosts
