"""The use cases: each module brings storage and decisions together for one, and knows no HTTP.

`platform` is what all of them work with; `find` reads records by their ids.
"""
