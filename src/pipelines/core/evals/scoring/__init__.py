"""What an agent did against what was expected: match, and shift from its baseline."""
