"""Every style with the examples that OpenAPI itself prints for it."""

import pytest
from openapi_documents import one_operation, only_tool, request_of

from pipelines.core.openapi.styles import CannotBuild

LIST = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}

PATHS = [
    ("simple", False, "", None),
    ("simple", False, "blue", "blue"),
    ("simple", False, LIST, "blue,black,brown"),
    ("simple", False, OBJECT, "R,100,G,200,B,150"),
    ("simple", True, OBJECT, "R=100,G=200,B=150"),
    ("label", False, "blue", ".blue"),
    ("label", False, LIST, ".blue,black,brown"),
    ("label", False, OBJECT, ".R,100,G,200,B,150"),
    ("label", True, LIST, ".blue.black.brown"),
    ("label", True, OBJECT, ".R=100.G=200.B=150"),
    ("matrix", False, "", ";color="),
    ("matrix", False, "blue", ";color=blue"),
    ("matrix", False, LIST, ";color=blue,black,brown"),
    ("matrix", False, OBJECT, ";color=R,100,G,200,B,150"),
    ("matrix", True, LIST, ";color=blue;color=black;color=brown"),
    ("matrix", True, OBJECT, ";R=100;G=200;B=150"),
]
QUERIES = [
    ("form", True, "", "color="),
    ("form", True, "blue", "color=blue"),
    ("form", True, LIST, "color=blue&color=black&color=brown"),
    ("form", True, OBJECT, "R=100&G=200&B=150"),
    ("form", False, LIST, "color=blue,black,brown"),
    ("form", False, OBJECT, "color=R,100,G,200,B,150"),
    ("form", True, [], ""),
    ("spaceDelimited", False, LIST, "color=blue%20black%20brown"),
    ("spaceDelimited", False, OBJECT, "color=R%20100%20G%20200%20B%20150"),
    ("pipeDelimited", False, LIST, "color=blue%7Cblack%7Cbrown"),
    ("pipeDelimited", False, OBJECT, "color=R%7C100%7CG%7C200%7CB%7C150"),
    ("deepObject", True, OBJECT, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ("deepObject", True, {"a": {"b": [1, 2]}}, "color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bb%5D=2"),
    ("deepObject", True, LIST, None),
    ("deepObject", True, "blue", None),
    ("form", True, [["nested"]], None),
    ("form", True, "a&b=c d+é/", "color=a%26b%3Dc%20d%2B%C3%A9%2F"),
    ("form", True, 1.0, "color=1"),
    ("form", True, 2.5, "color=2.5"),
    ("form", True, True, "color=true"),
]
HEADERS = [
    (False, "blue", "blue"),
    (False, LIST, "blue,black,brown"),
    (False, OBJECT, "R,100,G,200,B,150"),
    (True, OBJECT, "R=100,G=200,B=150"),
    (False, "two\r\nlines", None),
    (False, " spaced ", None),
    (False, "é", None),
]
COOKIES = [
    ("form", True, "blue", "color=blue"),
    ("form", True, LIST, "color=blue; color=black; color=brown"),
    ("form", False, LIST, "color=blue,black,brown"),
    ("form", False, OBJECT, "color=R,100,G,200,B,150"),
    ("form", True, "a; session=stolen", "color=a%3B%20session=stolen"),
    ("form", True, OBJECT, None),
    ("cookie", True, "a b", None),
    ("cookie", True, "a%20b", "color=a%20b"),
]


def tool(place, style, explode, path="/x"):
    parameter = {"name": "color", "in": place, "style": style, "explode": explode, "schema": {}}
    return only_tool(
        one_operation(path, parameters=[parameter | ({"required": True} if place == "path" else {})])
    )


def built(tool, value):
    try:
        return request_of(tool, color=value)
    except CannotBuild:
        return None


@pytest.mark.parametrize(("style", "explode", "value", "expected"), PATHS)
def test_a_path(style, explode, value, expected):
    request = built(tool("path", style, explode, "/x/{color}"), value)
    assert (request and request.target) == (None if expected is None else f"/x/{expected}")


@pytest.mark.parametrize(("style", "explode", "value", "expected"), QUERIES)
def test_a_query(style, explode, value, expected):
    request = built(tool("query", style, explode), value)
    assert (request and request.target) == (
        None if expected is None else f"/x?{expected}" if expected else "/x"
    )


@pytest.mark.parametrize(("explode", "value", "expected"), HEADERS)
def test_a_header(explode, value, expected):
    request = built(tool("header", "simple", explode), value)
    assert (request and request.headers["color"]) == expected


@pytest.mark.parametrize(("style", "explode", "value", "expected"), COOKIES)
def test_a_cookie(style, explode, value, expected):
    request = built(tool("cookie", style, explode), value)
    assert (request and request.headers["Cookie"]) == expected


def test_a_value_may_keep_what_is_reserved_but_not_what_ends_it():
    parameter = {"name": "q", "in": "query", "allowReserved": True, "schema": {"type": "string"}}
    request = request_of(only_tool(one_operation(parameters=[parameter])), q="a:/b?c&d=e#f")
    assert request.target == "/x?q=a:/b?c%26d%3De%23f"


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        ("query", {"a": [1, "é"]}, "/x?p=%7B%22a%22%3A%5B1%2C%22%5Cu00e9%22%5D%7D"),
        ("header", {"a": 1}, '{"a":1}'),
        ("cookie", {"a": 1}, "p=%7B%22a%22%3A1%7D"),
    ],
)
def test_a_parameter_that_is_a_document_of_its_own(place, value, expected):
    parameter = {"name": "p", "in": place, "content": {"application/json": {"schema": {"type": "object"}}}}
    request = request_of(only_tool(one_operation(parameters=[parameter])), p=value)
    sent = {
        "query": request.target,
        "header": request.headers.get("p"),
        "cookie": request.headers.get("Cookie"),
    }
    assert sent[place] == expected


def test_null_is_a_parameter_that_is_not_given():
    parameter = {"name": "limit", "in": "query", "schema": {"type": "integer"}}
    assert request_of(only_tool(one_operation(parameters=[parameter])), limit=None).target == "/x"
