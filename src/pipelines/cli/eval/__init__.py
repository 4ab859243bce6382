"""`pipelines eval …`: scenarios under pressure, from a file to a heatmap and an exit code."""
