"""Texts that authors and services send, read strictly: JSON, YAML, CSV, addresses, and problems found.

Enter through `json_text` (strict JSON), `authored` (a document's fields, problems collected) and `problems`.
"""
