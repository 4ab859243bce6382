"""What is wrong with a task's oracle before any agent runs."""
