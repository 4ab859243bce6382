"""Whether this node runs uploaded code, and the workspaces it keeps ready for coding runs."""
