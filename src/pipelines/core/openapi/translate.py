"""A document as tools, one per operation. An operation that cannot be translated is left out and named in the
notes with why; the others are not affected."""

from collections.abc import Iterator
from typing import NamedTuple

from pipelines.core.limits.json_schema import schema_problems
from pipelines.core.openapi.bodies import BASE64, OperationBody, body_of
from pipelines.core.openapi.document import CannotTranslate, Document, place_of, read_document
from pipelines.core.openapi.operation import BODY_ARGUMENT, Body, Operation, Parameter
from pipelines.core.openapi.parameters import DeclaredParameter, SecurityNames, parameters_of, security_names
from pipelines.core.openapi.schemas import Schemas
from pipelines.core.openapi.styles import is_json_type
from pipelines.core.openapi.tool_names import OperationKey, name_notes, tool_names
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.live_tools import MOST_TOOL_BYTES, DiscoveredTool, Discovery

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
MOST_OPERATIONS = 5_000  # GitHub has 1,223
LONGEST_DESCRIPTION = 4_000  # characters; models are sent it with every request
LONGEST_PATH = 8_000  # characters; common servers read no longer line
MOST_NOTES, LONGEST_NOTE = 1_000, 1_000


def translate(text: bytes) -> Discovery:
    """The tools of a document; Refused or InvalidJson if it is none."""
    return tools_of(read_document(text))


def tools_of(document: Document) -> Discovery:
    return _Translation(document).discovery()


class _Argument(NamedTuple):
    name: str  # as declared
    place: str  # path, query, header, cookie or body
    schema: Json
    is_required: bool


class _Translation:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._notes: dict[str, None] = {}  # in order, each once
        self._about = ""  # which operation
        self._inputs = Schemas(document, are_inputs=True, note=self._note)
        self._outputs = Schemas(document, are_inputs=False, note=lambda _: None)
        self._secured: SecurityNames = security_names(document)
        self._checked: dict[bytes, JsonObject] = {}  # outputs, by what they are before their definitions

    def _note(self, said: str) -> None:
        note = f"{self._about}: {said}" if self._about else said
        if len(self._notes) < MOST_NOTES:
            self._notes[note if len(note) <= LONGEST_NOTE else f"{note[: LONGEST_NOTE - 1]}…"] = None

    def discovery(self) -> Discovery:
        keys = list(self._keys())
        if len(keys) > MOST_OPERATIONS:
            message = f"has {len(keys):,} operations; at most {MOST_OPERATIONS:,} are allowed"
            raise Refused([Problem(path="/paths", message=message)], "the OpenAPI document")
        names = tool_names(keys)
        tools = []
        for key in keys:
            self._about = key.shown
            try:
                tools.append(self._tool(key, names[key]))
            except CannotTranslate as error:
                self._note(f"left out: {error}")
                del names[key]
        in_order = {key: names[key] for key in keys if key in names}
        return Discovery(tools=tuple(tools), notes=(*self._notes, *name_notes(in_order)))

    def _keys(self) -> Iterator[OperationKey]:
        paths = self._document.root["paths"]
        assert isinstance(paths, dict)
        for path, node in paths.items():
            if path.startswith("x-"):
                continue
            self._about = path
            try:
                item = self._document.resolved(node, place_of("paths", path))
            except CannotTranslate as error:
                self._note(f"left out: {error}")
                continue
            for method in METHODS:
                if method in item:
                    body = item[method]
                    own = body.get("operationId") if isinstance(body, dict) else None
                    yield OperationKey(path, method, own if isinstance(own, str) and own else None)
        self._about = ""

    def _tool(self, key: OperationKey, name: str) -> DiscoveredTool:
        _check_path(key.path)
        at = place_of("paths", key.path, key.method)
        paths = self._document.root["paths"]
        assert isinstance(paths, dict)
        item = self._document.resolved(paths[key.path], place_of("paths", key.path))
        operation = self._document.resolved(item[key.method], at)
        if "servers" in operation or "servers" in item:
            self._note("has servers of its own; the endpoint's base_url is used")
        declared = parameters_of(self._document, key.path, key.method, secured=self._secured, note=self._note)
        body = body_of(self._document, operation, at, self._inputs)
        arguments = [*map(self._of_parameter, declared), *_of_body(body)]
        names = _argument_names(arguments)
        kept = Operation(
            method=key.method.upper(),
            path=key.path.partition("#")[
                0
            ],  # which only tells operations of one path apart; it is never sent
            parameters=tuple(
                _kept_parameter(each, given) for each, given in zip(declared, names, strict=False)
            ),
            body=None
            if body is None
            else _kept_body(body, arguments[len(declared) :], names[len(declared) :]),
            operation_id=key.operation_id,
            guarded=tuple(sorted(self._secured.query)),
        )
        return DiscoveredTool(
            name=name,
            description=_description(operation),
            input_schema=self._input_schema(
                arguments, names, takes_more=body is not None and body.takes_more
            ),
            output_schema=self._output_schema(operation, at),
            call=kept.as_json(),
        )

    def _of_parameter(self, declared: DeclaredParameter) -> _Argument:
        schema = self._inputs.converted(declared.schema, declared.schema_place)
        if declared.description:
            schema = _with_description(schema, declared.description)
        return _Argument(declared.name, declared.place, schema, declared.is_required)

    def _input_schema(self, arguments: list[_Argument], names: list[str], *, takes_more: bool) -> JsonObject:
        schema: JsonObject = {
            "type": "object",
            "properties": {name: each.schema for name, each in zip(names, arguments, strict=True)},
        }
        required: list[Json] = [name for name, each in zip(names, arguments, strict=True) if each.is_required]
        schema |= {"required": required} if required else {}
        schema |= {} if takes_more else {"additionalProperties": False}
        whole = self._inputs.with_definitions(schema)
        _check_size(whole, "its input schema")
        if problems := schema_problems(whole, "", "its input schema"):
            raise CannotTranslate(problems[0].said())
        return whole

    def _output_schema(self, operation: JsonObject, at: str) -> JsonObject | None:
        """Of the answers that are a success and JSON. One that cannot be used leaves the tool usable."""
        try:
            schemas = [self._outputs.converted(node, place) for node, place in self._answers(operation, at)]
            distinct = [each for index, each in enumerate(schemas) if each not in schemas[:index]]
            if not distinct:
                return None
            schema: Json = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
            if not isinstance(schema, dict):
                return None
            return self._checked_output(schema)
        except CannotTranslate as error:
            self._note(f"its output schema is left out: {error}")
            return None

    def _checked_output(self, schema: JsonObject) -> JsonObject:
        """Many operations answer the same, and checking takes longer than all the rest."""
        key = dumps(schema)
        whole = self._checked.get(key)
        if whole is None:
            whole = self._outputs.with_definitions(schema)
            _check_size(whole, "its output schema")
            if problems := schema_problems(whole, "", "its output schema"):
                raise CannotTranslate(problems[0].said())
            self._checked[key] = whole
        return whole

    def _answers(self, operation: JsonObject, at: str) -> Iterator[tuple[Json, str]]:
        answers = operation.get("responses")
        for status, node in answers.items() if isinstance(answers, dict) else ():
            if not str(status).startswith("2"):
                continue
            place = f"{at}/responses{place_of(status)}"
            content = self._document.resolved(node, place).get("content")
            for media_type, media in content.items() if isinstance(content, dict) else ():
                if is_json_type(media_type) and isinstance(media, dict) and "schema" in media:
                    yield media["schema"], f"{place}/content{place_of(media_type)}/schema"
                    break


def _check_size(schema: JsonObject, what: str) -> None:
    """Before it is checked otherwise: that takes far longer."""
    size = len(dumps(schema))
    if size > MOST_TOOL_BYTES:
        raise CannotTranslate(
            f"{what} has {size:,} bytes with its references; at most {MOST_TOOL_BYTES:,} are allowed"
        )


def _check_path(path: str) -> None:
    if len(path) > LONGEST_PATH:
        raise CannotTranslate(f"its path has {len(path):,} characters; at most {LONGEST_PATH:,} are allowed")
    if not path.startswith("/"):
        raise CannotTranslate("its path must start with `/`")
    if set(path) & set("?\\") or not path.isprintable():
        raise CannotTranslate("its path has invalid characters (`?`, `\\`, control characters)")
    if {".", ".."} & set(path.split("/")):
        raise CannotTranslate("its path has a part `.` or `..`")


def _of_body(body: OperationBody | None) -> list[_Argument]:
    if body is None:
        return []
    if body.properties is None:
        schema = _with_description(body.schema, body.description) if body.description else body.schema
        if body.is_binary:
            schema = {"type": "string", "contentEncoding": "base64", "description": BASE64}
        return [_Argument(BODY_ARGUMENT, "body", schema, body.is_required)]
    binary = {name for name, encoding in body.encodings if encoding.is_binary}
    return [
        _Argument(
            name,
            "body",
            _as_base64(schema) if name in binary else schema,
            name in body.required and body.is_required,
        )
        for name, schema in body.properties.items()
    ]


def _as_base64(schema: Json) -> Json:
    if isinstance(schema, dict) and isinstance(schema.get("items"), dict):
        return schema | {"items": _as_base64(schema["items"])}
    text: JsonObject = {"type": "string", "contentEncoding": "base64"}
    description = schema.get("description") if isinstance(schema, dict) else None
    return text | {"description": f"{description} {BASE64}" if isinstance(description, str) else BASE64}


def _with_description(schema: Json, description: str) -> Json:
    """A parameter's own words are nearer than those of a schema that many share."""
    body: JsonObject = schema if isinstance(schema, dict) else ({} if schema is True else {"not": {}})
    return body | {"description": _bounded(description)}


def _argument_names(arguments: list[_Argument]) -> list[str]:
    """Their own; of equal ones in several places each says which: `id__path`, `id__body`."""
    counts: dict[str, int] = {}
    for each in arguments:
        counts[each.name] = counts.get(each.name, 0) + 1
    unique = {name for name, count in counts.items() if count == 1}
    names: list[str] = []
    for each in arguments:
        name = each.name
        if counts[name] > 1:
            name = f"{name}__{each.place}"
            while name in unique:
                name += "_"
            unique.add(name)
        names.append(name)
    return names


def _kept_parameter(declared: DeclaredParameter, argument: str) -> Parameter:
    return Parameter(
        argument=argument,
        name=declared.name,
        place=declared.place,
        style=declared.style,
        explode=declared.explode,
        content=declared.content,
        reserved=declared.reserved,
    )


def _kept_body(body: OperationBody, arguments: list[_Argument], names: list[str]) -> Body:
    return Body(
        media_type=body.media_type,
        is_required=body.is_required,
        argument=names[0] if body.properties is None else None,
        properties=()
        if body.properties is None
        else tuple((name, each.name) for name, each in zip(names, arguments, strict=True)),
        takes_more=body.properties is not None and body.takes_more,
        is_binary=body.is_binary,
        encodings=body.encodings,
    )


def _description(operation: JsonObject) -> str:
    texts = [text for key in ("summary", "description") if isinstance(text := operation.get(key), str)]
    return _bounded("\n\n".join(text.strip() for text in dict.fromkeys(texts) if text.strip()))


def _bounded(text: str) -> str:
    return text if len(text) <= LONGEST_DESCRIPTION else text[: LONGEST_DESCRIPTION - 1] + "…"
