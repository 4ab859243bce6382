"""Commands that read or judge stored runs: `ls`, `show`, `logs`, `review`, `judge` and others."""
