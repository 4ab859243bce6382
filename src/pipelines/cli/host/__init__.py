"""Commands beside the server itself: `up`, `token`, `prune`, `models`, `demo`."""
