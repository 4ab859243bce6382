#!/bin/bash
python3 - <<'PYTHON'
import json, os

totals = {}
for line in open(os.environ["LEDGER"]):
    account, _, amount = line.strip().partition(",")
    if account and amount.lstrip("-").isdigit():
        totals[account] = totals.get(account, 0) + int(amount)
with open(os.environ["TOTALS"], "w") as file:
    json.dump(totals, file)
PYTHON
