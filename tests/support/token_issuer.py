"""An OIDC issuer on loopback: publishes what a real one does, keeps what it was asked, and signs at will."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode

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
        self.discovery: Row = {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
        }
        self.status = 200
        self.body: bytes | None = None
        #: Of people who sign in here: what their ID token says otherwise, or why they are turned away.
        self.id_claims: Row = {}
        self.turned_away: Row | None = None
        self.client_secret = ""
        self.codes: dict[str, Row] = {}

    def answer(self, path: str) -> bytes:
        self.asked.append(path)
        if self.body is not None:
            return self.body
        known: Row = {"/.well-known/openid-configuration": self.discovery, "/keys": {"keys": self.published}}
        return json.dumps(known[path]).encode()

    def authorize(self, query: str) -> str:
        """Where a browser is sent back to: nobody is asked for a password here."""
        asked = dict(parse_qsl(query))
        back = {"state": asked["state"]} | ({} if self.turned_away is None else self.turned_away)
        if self.turned_away is None:
            back["code"] = f"code-{len(self.codes)}"
            self.codes[back["code"]] = asked
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    def exchange(self, fields: Row, authorization: str) -> tuple[int, Row]:
        """A code for a token, once, for whoever began it."""
        begun = self.codes.pop(fields.get("code", ""), None)
        if begun is None or fields["redirect_uri"] != begun["redirect_uri"]:
            return 400, {"error": "invalid_grant", "error_description": "the code is <b>spent</b>"}
        digest = encoded(hashlib.sha256(fields["code_verifier"].encode()).digest())
        if begun["code_challenge_method"] != "S256" or digest != begun["code_challenge"]:
            return 400, {"error": "invalid_grant", "error_description": "another verifier"}
        basic = base64.b64encode(f"{begun['client_id']}:{self.client_secret}".encode()).decode()
        if self.client_secret and authorization != f"Basic {basic}":
            return 401, {"error": "invalid_client"}
        claims = {"aud": begun["client_id"], "nonce": begun["nonce"]} | self.id_claims
        return 200, {"token_type": "Bearer", "access_token": "x", "id_token": self.token(**claims)}

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
            path, _, query = self.path.partition("?")
            if path == "/authorize":
                self.send_response(302)
                self.send_header("Location", issuer.authorize(query))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = issuer.answer(self.path)
            self.send_response(issuer.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            fields = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            status, told = issuer.exchange(fields, self.headers.get("Authorization", ""))
            body = json.dumps(told).encode()
            self.send_response(status)
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
