"""The HTTP layer: connections, limits on slow clients, and the access log."""
