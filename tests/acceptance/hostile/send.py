"""The sender of one attack, run as a process: `python -m hostile.send KIND CONFIG`; it prints what it did."""

import json
import os
import sys

from hostile.kinds import KINDS
from hostile.tenant import NotTaken, Tenant


def main() -> None:
    os.nice(
        10
    )  # what an attacker's machine does costs the server nothing: making the inputs is not the attack
    kind, told = KINDS[sys.argv[1]], json.loads(sys.argv[2])
    tenant = Tenant(told)
    try:
        kind.attack(tenant)
    except NotTaken as refusal:
        print(json.dumps({"what": "not taken", "note": str(refusal)}), flush=True)


if __name__ == "__main__":
    main()
