"""Coding tasks: scenarios, scorers, the agent's change to a workspace, and its grading.

Enter through `scenario` (a scenario as its author writes it), `scorers` and `grading`. `import_harbor` and
`import_swebench` read tasks of other benchmarks.
"""
