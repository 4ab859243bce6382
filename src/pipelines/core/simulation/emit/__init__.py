"""Plans as Python functions: one function per checked plan, compiled when the plan is first run.

nodes (pieces of Python's tree) <- writer (blocks, variables, constants) <- fields, operators, loops (of
expressions) <- bindings, naming, ending, changing, finding (steps) <- plan (the whole function)

What it may do: build Python's tree, node by node, from the steps that `core/simulation/language.py` has
checked; call the functions that the interpreter calls too; and write out what pays: names as variables,
fields of mappings, comparisons of plain values, loops. What it may not do: paste anything that an author
wrote. All names in the code are made here (`v0`, `t1`, `k2`), and every constant, field, message and type is
handed in under such a name. It decides nothing about meaning: where the interpreter
(`core/simulation/interpret.py`) says otherwise, this is wrong.
"""

from pipelines.core.simulation.emit.plan import Code, emitted

__all__ = ["Code", "emitted"]
