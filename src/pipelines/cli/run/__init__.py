"""`pipelines run`: runs tasks on an agent, or the suites of a repository, and prints their verdicts.

Its flags are in `commands`. `run` runs one dataset, `suites` the suites of pipelines.yaml.
"""
