"""H2: uploads of datasets as large as may be, by JSON and as CSV, right and wrong."""

import json
from collections.abc import Callable

from hostile.kind import MOST_GROWTH_BY_UPLOAD_MB, kind
from hostile.tenant import MEBIBYTE, Tenant

Body = Callable[[int], bytes]


def _repeated(start: str, unit: str, end: str) -> Body:
    """Text around as many units as fit."""
    return lambda size: (start + unit * ((size - len(start) - len(end)) // len(unit.encode())) + end).encode()


_ROW = '{"user":"Refund order 4521.","state":{"order":{"4521":{"status":"shipped","amount":79.5}}}},'
_LAST = '{"user":"x"}]}'
JSON_BODIES: dict[str, Body] = {
    "rows": _repeated('{"name":"x","rows":[', _ROW, _LAST),
    "a million tiny rows": _repeated('{"name":"x","rows":[', '{"user":"x"},', _LAST),
    "empty rows": _repeated('{"name":"x","rows":[', "{},", _LAST),
    "numbers for rows": _repeated('{"name":"x","rows":[', "1,", _LAST),
    "wrong columns": _repeated('{"name":"x","rows":[', '{"usr":"x","stat":{},"behaviour":1},', _LAST),
    "one long text": _repeated('{"name":"x","rows":[{"user":"', "x", '"}]}'),
    "one long text of escapes": _repeated('{"name":"x","rows":[{"user":"', "\\u00e9", '"}]}'),
    "one large world": _repeated(
        '{"name":"x","rows":[{"user":"x","state":{"order":{"1":{"items":[', "1,", "1]}}}}]}"
    ),
    "one world of floats": _repeated(
        '{"name":"x","rows":[{"user":"x","state":{"o":{"1":{"i":[', "1.5e-3,", "1]}}}}]}"
    ),
    "empty objects": _repeated('{"name":"x","rows":[{"user":"x","task_input":[', "{},", "{}]}]}"),
    "deep": _repeated('{"name":"x","rows":[{"user":"x","task_input":', "[", ""),
    "long numbers": _repeated('{"name":"x","rows":[{"user":"x","task_input":[', "9" * 4_000 + ",", "1]}]}"),
    "a number without end": _repeated('{"name":"x","rows":[', "9", "]}"),
    "unknown fields": _repeated('{"name":"x","rows":[],"more":[', '"y",', '"y"]}'),
    "blanks": _repeated('{"name":"x","rows":[', " ", _LAST),
    "not closed": _repeated('{"name":"x","rows":[', _ROW, ""),
    "no text at all": lambda size: b"\xff" * size,
    "tags": _repeated('{"name":"x","rows":[{"user":"x","tags":"', "a,", '"}]}'),
    "constraints": _repeated('{"name":"x","rows":[{"user":"x","tracked_constraints":[', '"a",', '"a"]}]}'),
    "rules": _repeated('{"name":"x","rows":[{"user":"x","failure_rules":[', '{"trigger":"x"},', "{}]}]}"),
    "turns": _repeated('{"name":"x","rows":[{"user":"x","scripted_user_turns":[', '"",', '""]}]}'),
}


def _keys(size: int) -> bytes:
    members = ",".join(f'"{at:x}":{{"n":{at}}}' for at in range(size // 20))
    return f'{{"name":"x","rows":[{{"user":"x","state":{{"order":{{{members}}}}}}}]}}'.encode()


def _same_keys(size: int) -> bytes:
    return b'{"name":"x","rows":[{' + b'"user":"x",' * (size // 11) + b'"user":"x"}]}'


JSON_BODIES |= {"different keys": _keys, "a key again and again": _same_keys}
CSV_BODIES: dict[str, Body] = {
    "rows": _repeated("user,state\n", 'Refund.,"{""order"":{""1"":{""status"":""shipped""}}}"\n', ""),
    "a million tiny rows": _repeated("user\n", "x\n", ""),
    "empty lines": _repeated("user\nx\n", "\n", ""),
    "commas": _repeated("user\nx", ",", "\n"),
    "quotes": _repeated("user\n", '"', ""),
    "quotes in a cell": _repeated('user\n"', '""', '"\n'),
    "a cell without end": _repeated('user\n"', "x", ""),
    "columns without end": _repeated("user,", "usr,", "\nx\n"),
    "wrong JSON": _repeated("user,state,failure_rules\n", "x,{,[1\n", ""),
    "JSON that is no world": _repeated("user,state\n", 'x,"[[[[1]]]]"\n', ""),
    "returns": _repeated("user\r", "x\r", ""),
    "nulls": _repeated("user\n", "\0", "\n"),
    "no text at all": lambda size: b"user\n" + b"\xfe" * size,
    "one large world": _repeated('user,state\nx,"{""o"":{""1"":{""i"":[', "1,", '1]}}}"\n'),
}


@kind("H2-json", growth_mb=MOST_GROWTH_BY_UPLOAD_MB, seconds=1.5)
def uploads_of_json(tenant: Tenant) -> None:
    size = tenant.size(6, 60) * MEBIBYTE
    for name, body in tenant.in_turn(JSON_BODIES, "turns", "constraints", "rows"):
        tenant.post("/api/datasets", body(size), what=f"JSON: {name}")


@kind("H2-csv", growth_mb=MOST_GROWTH_BY_UPLOAD_MB, seconds=1.5)
def uploads_of_csv(tenant: Tenant) -> None:
    size = tenant.size(6, 60) * MEBIBYTE
    for name, body in tenant.in_turn(CSV_BODIES, "returns", "one large world"):
        _upload_csv(tenant, body(size), name)


def _upload_csv(tenant: Tenant, raw: bytes, name: str) -> None:
    head = b'--B\r\nContent-Disposition: form-data; name="file"; filename="x.csv"\r\n\r\n'
    kind = "multipart/form-data; boundary=B"
    tenant.post("/api/datasets", head + raw + b"\r\n--B--\r\n", what=f"CSV: {name}", Content_Type=kind)


@kind("H2-largest", growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def one_upload_of_the_largest(tenant: Tenant) -> None:
    """One body of sixty mebibytes; which one is the seed's."""
    names = ["rows", "one large world", "different keys", "wrong columns"]
    name = tenant.chance.choice(names)
    tenant.post("/api/datasets", JSON_BODIES[name](60 * MEBIBYTE), what=f"JSON of 60 MiB: {name}")


@kind("H2-at-once", growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def several_uploads_at_once(tenant: Tenant) -> None:
    """Eight uploads at the same time."""
    size = tenant.size(3, 30) * MEBIBYTE
    names = tenant.chance.sample(sorted(JSON_BODIES), 4) * 2
    tenant.together(
        lambda name: tenant.post("/api/datasets", JSON_BODIES[name](size), what=f"at once: {name}"), names
    )


@kind("H2-forms", growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def odd_forms(tenant: Tenant) -> None:
    """Multipart bodies of every wrong shape."""
    size = tenant.size(4, 60) * MEBIBYTE
    part = b'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n'
    shapes: dict[str, bytes] = {
        "many parts": part * (size // len(part)),
        "almost boundaries": b"--B\r\n\r\n" + b"\r\n--" * (size // 4),
        "long part headers": b"--B\r\nX: " + b"a" * size,
        "many part headers": b"--B\r\n" + b"X: a\r\n" * (size // 6),
        "no boundary": b"\r\n" * (size // 2),
        "a long name": b'--B\r\nContent-Disposition: form-data; name="'
        + b"a" * size
        + b'"\r\n\r\nx\r\n--B--\r\n',
        "a field without end": b'--B\r\nContent-Disposition: form-data; name="name"\r\n\r\n' + b"x" * size,
        "dashes": b"-" * size,
    }
    for name, raw in tenant.in_turn(shapes):
        tenant.post(
            "/api/datasets", raw, what=f"form: {name}", Content_Type="multipart/form-data; boundary=B"
        )


@kind("H2-credentials")
def other_bodies(tenant: Tenant) -> None:
    """A megabyte for every endpoint that takes a body."""
    texts = {"name": "x" * 500_000, "value": "y" * 500_000}
    lists = {"agent_id": list(range(150_000)), "task_ids": list(range(50_000))}
    many = json.dumps({f"field {at}": at for at in range(50_000)}).encode()
    paths = ["/api/credentials", "/api/keys", "/api/runs", "/api/agents", "/api/datasets"]
    bodies = {
        f"{path} {name}": (path, body)
        for path in paths
        for name, body in {"texts": texts, "lists": lists, "many": many, "deep": b"[" * 1_000_000}.items()
    }
    for name, (path, body) in tenant.in_turn(bodies):
        tenant.post(path, body, what=name)
