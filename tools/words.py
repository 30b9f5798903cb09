#!/usr/bin/env python3
"""Finds expressions that a native reader stumbles over in the pages that have been rewritten.

    words.py FILE...

Prints FILE:LINE: the expression, and what to write instead; exits with 1 if there is one. Code blocks, code in backquotes, tables'
rules and link targets are not read.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

RULES = [
    (r"(?:^|[.;:|] +)Who (?:is|has|does|held|[a-z]+s)\b", "name the subject: a client, a caller, a waiter"),
    (r"\b[Nn]obody\b", "no client, no member; or negate the verb"),
    (r"(?<![Tt]here )\bis no (?!longer\b)[a-z]+", "is not a …"),
    (r"\b[Tt]ells? (?:whether|that|if)\b", "reports whether"),
    (r"\bhears? of\b", "detects, learns of"),
    (r"\b[Bb]eliev(?:e|ed|es|ing)\b", "rely on; valid; safe until"),
    (r"\b(?:go|goes|going|went) on\b", "continue, resume"),
    (r"\bbears? (?:the|a)\b", "tolerates"),
    (r"\b(?:anew|lately|for good|any more|no more)\b", "again, recently, permanently, no longer"),
    (r"\balso (?:when|if|after|without|while)\b", "even when, even if"),
    (r"\bwas not had\b|\b(?:has|have|had) the lock\b", "acquired, holds"),
    (r"\b(?:Had|Should) (?:the|it|a|this) \w+", "if …"),
    (r"\bof before\b", "previous"),
    (r"\bTTL (?:has|have) run\b", "TTL has elapsed"),
    (r"\bgives? (?:the lock|it) back\b", "releases"),
]


def prose(text: str) -> list[str]:
    """Returns the lines of a page without its code, keeping their numbers."""
    lines, fenced = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
            lines.append("")
        elif fenced:
            lines.append("")
        else:
            lines.append(re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "`", line)))
    return lines


def main(files: list[str]) -> int:
    found = 0
    for file in files:
        for number, line in enumerate(prose(Path(file).read_text(encoding="utf-8")), 1):
            for expression, better in RULES:
                for hit in re.finditer(expression, line):
                    print(f"{file}:{number}: {hit[0].strip()!r}: write: {better}")
                    found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
