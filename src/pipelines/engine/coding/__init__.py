"""Coding scenarios, and grading what an agent changed in a workspace."""
