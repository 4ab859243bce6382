"""One survey of tools, world and schema: types, fields and their roles, and which words mean which type."""
