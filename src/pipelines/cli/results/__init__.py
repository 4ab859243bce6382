"""Commands that read or judge stored runs: `ls`, `show`, `logs`, `review`, `compare` and others; and `judge`,
for runs that were recorded elsewhere."""
