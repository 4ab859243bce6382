"""`pipelines coding …`: scenarios of coding tasks, tasks of other ranges, stored changes scored again."""
