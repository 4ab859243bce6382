import json
import sys

WANTED = {"rent": -95000, "salary": 310000, "food": -4650, "gifts": 500}
try:
    with open("totals.json") as file:
        found = json.load(file)
except (OSError, ValueError) as error:
    print(error, file=sys.stderr)
    found = {}
right = sum(found.get(name) == total for name, total in WANTED.items())
wrong = len(set(found) - set(WANTED))
print(json.dumps({"reward": max(0, right - wrong) / len(WANTED)}))
