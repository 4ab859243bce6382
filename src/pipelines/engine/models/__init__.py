"""Which models are asked for what, what they cost, and the parts of a run that a model plays."""
