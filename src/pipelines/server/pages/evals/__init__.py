"""Pages of the eval library."""
