"""Live tool endpoints: registered, checked, asked for their tools, bound to agents; and cassettes as files.
Enter at `manage_endpoints` and `manage_cassettes`.
"""
