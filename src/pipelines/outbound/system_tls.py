"""TLS as this machine trusts others."""

import ssl
from functools import lru_cache

import httpcore2


@lru_cache(maxsize=1)
def system_tls() -> ssl.SSLContext:
    """One for all endpoints: reading the certificates of the machine takes some 50 ms."""
    tls = httpcore2.default_ssl_context()
    tls.set_alpn_protocols(["http/1.1"])
    return tls
