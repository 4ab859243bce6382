"""`pipelines ci …`: workflows for CI, and the results of suites compared. `pipelines run` runs the suites."""
