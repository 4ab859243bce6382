"""Scenarios, matrices, telemetry and reviews."""
