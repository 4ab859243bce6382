"""Odyssey: a range where AI agents are tested before they are trusted."""

__version__ = "0.2.0"
