"""Running other people's code: isolation, limits, dependency environments."""
