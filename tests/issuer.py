"""An OIDC issuer on loopback: publishes what a real one does, keeps what it was asked, and signs at will."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

Row = dict[str, Any]
AUDIENCE = "odyssey"
MAKERS = {
    "RS256": lambda: rsa.generate_private_key(public_exponent=65_537, key_size=2_048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}


class SigningKey:
    def __init__(self, kid: str, algorithm: str = "ES256") -> None:
        self.kid = kid
        self.algorithm = algorithm
        self.private: Any = MAKERS[algorithm]()

    @property
    def jwk(self) -> Row:
        public = get_default_algorithms()[self.algorithm].to_jwk(self.private.public_key(), as_dict=True)
        return public | {"kid": self.kid, "use": "sig", "alg": self.algorithm}

    @property
    def public_pem(self) -> bytes:
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )


class Issuer:
    """What it says is in `discovery` and `jwks`; `status` and `body` replace both."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.key = SigningKey("first")
        self.published = [self.key.jwk]
        self.asked: list[str] = []
        self.discovery: Row = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        self.status = 200
        self.body: bytes | None = None

    def answer(self, path: str) -> bytes:
        self.asked.append(path)
        if self.body is not None:
            return self.body
        known: Row = {"/.well-known/openid-configuration": self.discovery, "/keys": {"keys": self.published}}
        return json.dumps(known[path]).encode()

    def rotate(self, kid: str) -> SigningKey:
        """From now on it signs with another key, and publishes no other."""
        self.key = SigningKey(kid)
        self.published = [self.key.jwk]
        return self.key

    def claims(self, **changes: Any) -> Row:
        """Of a good token; None takes one out."""
        now = int(time.time())
        good = {"iss": self.url, "aud": AUDIENCE, "sub": "ada", "role": "contributor"}
        claims = good | {"iat": now, "exp": now + 300} | changes
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, key: SigningKey | None = None, header: Row | None = None, **changes: Any) -> str:
        signing = key or self.key
        head = {"kid": signing.kid} | (header or {})
        return jwt.encode(self.claims(**changes), signing.private, signing.algorithm, headers=head)


def encoded(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@contextmanager
def issuing() -> Iterator[Issuer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = issuer.answer(self.path)
            self.send_response(issuer.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Not into the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer = Issuer(server.server_address[1])
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
