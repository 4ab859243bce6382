"""English as people write it: numbers, amounts and dates. One floor for all that reads sentences."""
