"""From spans to drafts of scenarios."""
