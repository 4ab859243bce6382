"""Small documents, and what ours and openapi-core make of them."""

from functools import lru_cache
from io import BytesIO
from typing import Any
from urllib.parse import unquote

from pipelines.core.openapi.build_request import OpenapiRequest, build_request
from pipelines.core.openapi.operation import Operation
from pipelines.core.openapi.translate import translate
from pipelines.core.text.json_text import dumps, loads_own

OK = {"200": {"description": "OK"}}


def document(paths: dict[str, Any], *, version: str = "3.1.0", **more: Any) -> dict[str, Any]:
    info = {"title": "Orders", "version": "1"}
    return {
        "openapi": version,
        "info": info,
        "servers": [{"url": "http://api.example"}],
        "paths": paths,
        **more,
    }


def one_operation(
    path: str = "/x", method: str = "get", *, version: str = "3.1.0", components=None, **operation
):
    more = {"components": components} if components is not None else {}
    return document(
        {path: {method: {"operationId": "op", "responses": OK, **operation}}}, version=version, **more
    )


def found(body: Any):
    return translate(dumps(body))


def only_tool(body: Any):
    discovery = found(body)
    assert len(discovery.tools) == 1, discovery.notes
    return discovery.tools[0]


def request_of(tool, **arguments) -> OpenapiRequest:
    return build_request(Operation.from_json(tool.call), arguments)


def as_werkzeug(request: OpenapiRequest):
    """The request as a WSGI server would hand it to an application."""
    from werkzeug.wrappers import Request

    path, _, query = request.target.partition("?")
    body = request.body or b""
    environ = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote(path, encoding="latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "api.example",
        "SERVER_PORT": "80",
        "HTTP_HOST": "api.example",
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(body),
        "CONTENT_LENGTH": str(len(body)),
    }
    for name, value in request.headers.items():
        key = name.upper().replace("-", "_")
        environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
    return Request(environ)


def understood(body: dict[str, Any], request: OpenapiRequest):
    """What openapi-core reads in a request, or its complaint as an exception."""
    from openapi_core.contrib.werkzeug import WerkzeugOpenAPIRequest

    result = _oracle(dumps(body)).unmarshal_request(WerkzeugOpenAPIRequest(as_werkzeug(request)))
    result.raise_for_errors()
    return result


@lru_cache(maxsize=1)  # making one takes longer than a hundred requests
def _oracle(text: bytes):
    from openapi_core import Config, OpenAPI

    # It reads matrix only from paths such as `/x/{;p*}`, which its own check of documents refuses.
    return OpenAPI.from_dict(loads_own(text), config=Config(spec_validator_cls=None))
