"""How the HTML heatmap looks: its style sheet, and the policy that lets the page have that and no more."""

import base64
import hashlib
from pathlib import Path

STYLE = Path(__file__).with_name("heatmap.css").read_text("utf-8")
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
#: Even if a text of a stranger were read as markup, nothing of it could run, load or send.
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"
