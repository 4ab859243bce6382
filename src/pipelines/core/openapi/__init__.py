"""OpenAPI documents as tools: what each operation takes and gives, and the request that a call becomes.

`translate` reads a document once, when an endpoint is discovered; `build_request` makes the request of one
call from what was kept of its operation; `read_answer` says what came back. Nothing here sends anything.
"""
