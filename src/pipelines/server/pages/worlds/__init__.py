"""Pages of seed sessions."""
