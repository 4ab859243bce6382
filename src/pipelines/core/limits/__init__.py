"""What keeps work bounded: limits of documents, the cost of schemas and patterns, fair turns for slots.

Enter through `check_limits` and `json_schema`.
"""
