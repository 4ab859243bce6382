"""Coding tasks as values: scenarios, scorers, what an agent changed in a workspace and what that is worth."""
