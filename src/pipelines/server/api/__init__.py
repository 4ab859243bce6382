"""The management API, one module per thing."""
