"""The review queue: opening items, deciding them, and what each decision does. Enter at `flag_reviews`,
`read_reviews` and `decide_reviews`.
"""
