"""The judge model: what it is asked, and how its answer becomes a verdict."""
