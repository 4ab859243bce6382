"""API keys and credentials of an org."""
