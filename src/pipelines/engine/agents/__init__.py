"""Agents of an org: registered, changed, published, deleted. Enter at `register_agent`."""
