"""Words around a number that tell how it came about: what it was, a step, what is left, a sum, a share."""

import re

from pipelines.core.english.stems import stem

MOVED = re.compile(r"\b(?:later|earlier|longer|shorter|exten\w+|postponed|moved|renewed|by|ahead|sooner)\b")
DEED = re.compile(
    r"\b(?:i|we)(?:'ve|\s+have|\s+had)?\s+(?:also\s+|now\s+|just\s+)?[a-z]+(?:ed|t|d)\b|\b(?:been|was|were|is|are)\s+(?:\w+ly\s+|now\s+)?[a-z]+ed\b"
    r"|^\W*[a-z]+ed\b|\b[a-z]+ed\W*$"
)
PAST = re.compile(
    r"\b(?:was|were|had|before|previous(?:ly)?|originally?|formerly|from|instead|old|used\s+to|rather\s+than|earlier|until"
    r"|no\s+longer|stood|last|reduced|so\s+far|than|out\s+of|of\s+(?:your|the)|compared|waived|lifted|gone|cleared)\b|→|->"
)
#: How much there is at the end: nothing that was before.
STANDS = re.compile(
    r"\b(?:is|are|'s|have|has)\s+(?:\w+\s+){0,2}?(?:left|remaining|still)\b|\bthere\s+(?:is|are)\s+still\b|\bremains?\b"
)
NOW = re.compile(r"\b(?:now|new|currently)\b")
CHANGED = re.compile(
    r"\b(?:more|less|fewer|extra|additional|add\w*|remov\w+|sav\w+|cheaper|dearer|higher|lower|by|difference|gained|lost|on\s+top"
    r"|up|down|off|back|increase\w*|decrease\w*|rise|drop\w*|under|over|above|below|short|longer|shorter|reduc\w+|raised|another)\b|[-−+]\s*$"
)
LEFT = re.compile(
    r"\b(?:left|leav\w+|remain\w*|still|open|outstanding|free|available|unused|spare|to\s+go|more|room|short|rest|balance|due|owe\w*"
    r"|unpaid|missing|lost|kept|keep|retain\w*|over|refund\w*|back|other|away|until|before|above|below|under|than|too)\b"
)
OWED = re.compile(
    r"\b(?:remain\w*|outstanding|owe[ds]?|owing|open|unpaid|due|to\s+(?:be\s+)?(?:paid|pay)|balance)\b"
)
SUMMED = re.compile(
    r"\b(?:total\w*|together|altogether|comes?\s+to|came\s+to|makes?|sum|in\s+all|combined|plus|all\s+told|overall|both|brings?"
    r"|instead|rather|between\s+them)\b|[=×+]"
)
SHARED = re.compile(r"\b(?:each|per|apiece|every|equal|instal?lments?|an?|half|at)\b")
OF_USER = re.compile(
    r"\b(?:you(?:'ve|\s+have)?\s+(?:asked|mentioned|said|gave|provided|wanted|requested|need\w*)|your\s+(?:request|message)|asked|wanted|requested"
    r"|would|beyond|exceed\w*|more\s+than|over|too|above|below|under)\b"
)
SPANS = frozenset(map(stem, ("minute", "hour", "day", "night", "week", "month", "year")))
APART_BY = re.compile(r"\b(?:saved?|saves|saving|saving\s+of|by|difference\s+(?:of|is))\s*$")
MORE_OR_LESS = re.compile(r"^\W*(?:\w+\s+)?(?:less|more|cheaper|dearer|extra|fewer|higher|lower)\b")
OF_CHANGE = frozenset(
    map(stem, ("extra", "saving", "saved", "discount", "difference", "change", "additional", "charged"))
)
SUM_CUE = re.compile(
    r"\b(?:together|altogether|combined|in\s+(?:all|total|sum)|comes?\s+to|came\s+to|makes|(?:adds?\s+up|amounts?)\s+to|sum)\b"
)
TOGETHER = re.compile(r"\b(?:together|altogether|combined)\b")
EACH = re.compile(
    r"^\W*(?:each|apiece|per|an?\s+(?:night|day|week|month|year|hour|person|head|piece|pair))\b"
)
SHARES = frozenset(map(stem, ("percent", "pct", "rate", "discount", "interest", "share", "percentage")))
WHOSE = r"(?:your|the|his|her|their|my|those|these)"
APART = re.compile(rf"\b(?:of\s+{WHOSE}|(?:out\s+of|from|than|by|instead\s+of)(?:\s+{WHOSE})?)\s*$")
COUNTED_FROM = re.compile(
    r"\b(?:ago|away|later|earlier|before|after|until|since|ahead|from|left|more|longer|overdue|late|past|out)\b"
)
IN = re.compile(r"\b(?:in|within)\s*$")
OF_THE = re.compile(r"\s*(?:of|out\s+of)\s+(?:the\s+|your\s+|its\s+|all\s+)?", re.IGNORECASE)
