"""HTTP itself: connections, bounds on slow clients, the access log."""
