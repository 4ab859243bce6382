"""What an agent did against what was expected (`match_score`), and its shift from the baseline (`shift`)."""
