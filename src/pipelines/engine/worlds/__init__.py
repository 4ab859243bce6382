"""Seed sessions: generated worlds, their rows, and the dataset they become. Enter at `open_session`."""
