"""`pipelines odyssey doctor`: everything that would keep an agent from running, in one pass."""
