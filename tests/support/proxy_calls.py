"""The order that calls of the proxy's tests are about."""

ORDER = {"order_id": "4521"}
