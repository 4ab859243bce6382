"""The eval library: scenarios, matrices and their reports, drafts from telemetry. Enter at `edit_scenarios`,
`start_matrix` and `score_matrix`.
"""
