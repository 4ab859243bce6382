"""The use cases, one verb per file. They bring storage and decisions together; they know no HTTP."""
