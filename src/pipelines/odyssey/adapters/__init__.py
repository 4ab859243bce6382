"""One module per agent framework; each imports its framework only when it is itself imported."""
