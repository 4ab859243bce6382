"""Calls to agents and tool endpoints: where they may go, and what came of them, failures as values."""
