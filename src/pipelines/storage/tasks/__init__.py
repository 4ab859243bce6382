"""Datasets, tasks, oracles, and the seed sessions that make them."""
