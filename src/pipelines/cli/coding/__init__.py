"""`pipelines coding …`: scenarios, imports from other benchmarks, grading stored changes again."""
