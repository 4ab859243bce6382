"""Whether this node runs uploaded code (`code_mode`), and the workspaces that it keeps ready for coding runs
(`prepare_workspace`).
"""
