"""How an expression becomes a function: text (its tree) <- compiler <- fields, operators, calls (nodes)."""
