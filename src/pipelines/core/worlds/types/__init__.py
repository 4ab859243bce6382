"""What a world of a toolset holds: its types, their fields and their states.

From the ledger schema, else from the tools (`toolset_outline`); and what a world that is there shows
(`world_outline`).
"""
