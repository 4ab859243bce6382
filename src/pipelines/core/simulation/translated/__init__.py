"""Sentences of behaviour text that nothing here reads, translated by a model into the rules that sentences
become.

A translation is a proposal: it is shown beside its sentence, tried on the seeded world, and in force only
where a person has accepted it. From then on it is a rule like any other: woven into plans, the same in every
run.
"""
