"""`pipelines run SUITE…` and `pipelines ci`: the suites of a repository, run and reported to CI."""
