"""A matrix: what it asks, the statistics of its cells, its report.

Enter through `matrix_request` and `report`.
"""
