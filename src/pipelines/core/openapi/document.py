"""An OpenAPI document: read from its text, and its references followed. They stay inside the document: one to
another address or file would let whoever wrote it choose what this server reads."""

from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import unquote

from pipelines.core.text.authored import kind
from pipelines.core.text.json_text import MAX_DEPTH, Json, JsonObject, depth, loads, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.yaml_text import read_yaml

MAX_DOCUMENT_BYTES = 20 * 1024 * 1024  # GitHub's has 13 MB, and few are larger
WHAT = "the OpenAPI document"
_MOST_REFERENCES = 32  # references that lead to references


class CannotTranslate(Exception):
    """Why one operation, or one schema, cannot be used; the rest of the document still can."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    root: JsonObject
    is_3_0: bool  # its schemas are not JSON Schema 2020-12 yet

    def resolved(self, node: Json, place: str) -> JsonObject:
        """An object of the document, through whatever references lead to it."""
        for _ in range(_MOST_REFERENCES):
            if not isinstance(node, dict):
                raise CannotTranslate(f"{place} must be a JSON object, not {kind(node)}")
            target = node.get("$ref")
            if not isinstance(target, str):
                return node
            node = self.target(target, place)
        raise CannotTranslate(f"{place} leads to too many references in a row")

    def target(self, reference: str, place: str) -> Json:
        if not reference.startswith("#"):
            raise CannotTranslate(
                f"{place} refers to `{reference[:200]}`; references outside of the document are not followed"
            )
        node: Json = self.root
        for part in fragment_parts(reference):
            if isinstance(node, dict) and part in node:
                node = node[part]
            elif isinstance(node, list) and part.isdecimal() and int(part) < len(node):
                node = node[int(part)]
            else:
                raise CannotTranslate(f"{place} refers to `{reference[:200]}`, which does not exist")
        return node


def fragment_parts(reference: str) -> list[str]:
    """The steps of `#/components/schemas/Pet`; an anchor is a step that leads nowhere."""
    fragment = unquote(reference[1:])
    if not fragment:
        return []
    steps = fragment[1:].split("/") if fragment.startswith("/") else [fragment]
    return [step.replace("~1", "/").replace("~0", "~") for step in steps]


def read_document(text: bytes) -> Document:
    """A document from JSON or YAML; Refused if it is not one of OpenAPI 3."""
    if len(text) > MAX_DOCUMENT_BYTES:
        _refuse("", f"has {len(text):,} bytes; at most {MAX_DOCUMENT_BYTES:,} are allowed")
    root = _value(text)
    if not isinstance(root, dict):
        _refuse("", f"must be a JSON object, not {kind(root)}")
    return _check_document(root)


def _value(text: bytes) -> Json:
    text = text.removeprefix(b"\xef\xbb\xbf")
    if text.lstrip()[:1] == b"{":
        return loads(text)
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse("", f"is not UTF-8 text (byte {error.start})")
    value = read_yaml(decoded, what="an OpenAPI document", most_bytes=MAX_DOCUMENT_BYTES).value
    if depth(value) > MAX_DEPTH:
        _refuse("", f"is nested deeper than {MAX_DEPTH} levels")
    return value


def _check_document(root: JsonObject) -> Document:
    if "swagger" in root and "openapi" not in root:
        hint = "convert it to OpenAPI 3 first; many programs do"
        _refuse("/swagger", f"is Swagger {root['swagger']}; OpenAPI 3.0, 3.1 and 3.2 are supported", hint)
    # YAML without quotes around it: `openapi: 3.1` is a number.
    version = str(root.get("openapi", ""))
    if not version.startswith(("3.0", "3.1", "3.2")):
        complaint = f"is {version[:20]!r}" if version else "is missing"
        _refuse(
            "/openapi", f"{complaint}; OpenAPI 3.0, 3.1 and 3.2 are supported", "such as `openapi: 3.1.0`"
        )
    paths = root.get("paths", {} if not version.startswith("3.0") else None)  # 3.1: webhooks alone will do
    if not isinstance(paths, dict):
        _refuse("/paths", f"must be a JSON object with the operations, not {kind(paths)}")
    return Document(root=root | {"paths": paths}, is_3_0=version.startswith("3.0"))


def _refuse(path: str, message: str, hint: str | None = None) -> NoReturn:
    raise Refused([Problem(path=path, message=message, hint=hint)], WHAT)


def place_of(*steps: str | int) -> str:
    return pointer(steps)
