"""Pages of settings."""
