"""`pipelines worlds`: generated worlds and rows."""
