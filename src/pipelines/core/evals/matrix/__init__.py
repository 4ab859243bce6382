"""A matrix: what it asks, the statistics of its cells, its report."""
