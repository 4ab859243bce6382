"""`pipelines odyssey …`: an agent on its author's machine, and the simulated tools it uses."""
