"""Write-only values at rest: AES-256-GCM, bound to the row they belong to."""

import base64
import hmac
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_VERSION = b"\x01"
_NONCE_BYTES = 12  # what GCM is specified for


class UnreadableSecret(Exception):
    """A stored secret does not open with this key and row: the key was changed, or the row was moved."""


class SecretBox:
    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self._key = key

    def derived_key(self, purpose: str) -> bytes:
        """A key for one purpose alone: who knows it knows nothing of the others."""
        return hmac.digest(self._key, purpose.encode(), "sha256")

    def seal(self, text: str, *, row: str) -> bytes:
        """Encrypted for one row (`org|agent|field`); the same bytes under another row do not open."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return _VERSION + nonce + self._cipher.encrypt(nonce, text.encode(), row.encode())

    def open(self, sealed: bytes, *, row: str) -> str:
        nonce, body = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        if sealed[:1] != _VERSION or len(nonce) != _NONCE_BYTES:
            raise UnreadableSecret
        try:
            return self._cipher.decrypt(nonce, body, row.encode()).decode()
        except InvalidTag as error:
            raise UnreadableSecret from error


def load_or_make_key(path: Path, given: str | None) -> bytes:
    """The operator's key (32 bytes in base64), else the one in a file only this user can read."""
    if given:
        return decoded_key(given)
    if not path.exists():
        # Under another name first: a kill in between must not leave half a key.
        temporary = path.with_suffix(f".{os.getpid()}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64encode(secrets.token_bytes(32)) + b"\n")
        temporary.replace(path)
    return decoded_key(path.read_text())


def derived_key(key: bytes, purpose: str) -> bytes:
    """A key of its own for each purpose: who has one of them knows neither the other nor the first."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=f"pipelines {purpose}".encode()).derive(key)


def decoded_key(text: str) -> bytes:
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise ValueError("must be 32 bytes in base64, for example from `openssl rand -base64 32`")
    return key
