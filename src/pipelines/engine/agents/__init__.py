"""Registering and changing agents."""
