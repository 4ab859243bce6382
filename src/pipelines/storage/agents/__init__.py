"""Agents, their code, their tool endpoints and cassettes."""
