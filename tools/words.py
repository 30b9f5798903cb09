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
    (r"\bgives? (?:the lock|it) back\b|\bgiv(?:en|ing) back\b", "releases, released"),
    (r"\b[Bb]eg(?:in|ins|an|un)\b", "start, starts, started"),
    (r"\b(?:keys|locks|sessions|names?) (?:that|whose \w+) begins? so\b", "with this prefix"),
    (r"\b[Mm]eanwhile\b", "until then, in the meantime; or name what runs"),
    (r"(?<!members )\bat once\b", "immediately; together, concurrently"),
    (r"\bby (?:itself|themselves)\b", "automatically"),
    (r"\b(?:hangs?|hung|hanging) on\b", "belongs to, depends on"),
    (r"\bliv(?:e|es|ed) on\b", "survive, remain"),
    (r"\b(?:is|are|was|were|gets?) cut off\b", "disconnected; truncated"),
    (r"\bst(?:ands?|ood) still\b", "is paused, was paused"),
    (r"\b(?:falls?|fell|fallen) silent\b", "stops responding"),
    (r"\b[Ww]hoever\b", "anyone who; name the subject"),
    (r"\b(?:some|any|every)body\b", "a client, another client, every member"),
    (r"\bpresent (?:state|revision|leader|value|holder|one)\b", "current"),
    (r"\b(?:is|are|was|were|be) told\b", "gets, is given, learns"),
    (r"(?<!as a )\bwhole or not at all\b", "completely or not at all"),
    (r"\bmends?\b|\bmended\b", "repair, fix"),
    (r"\b(?:is|are) of no use\b", "cannot be used"),
    (r"\bfor (?:ever|so long)\b", "forever; for this time"),
    (r"\b(?:under way|on (?:its|the) way)\b", "running, in progress, in transit"),
    (r"\bgoes with (?:it|its)\b", "is deleted with it"),
    (r"\bhas? no (?:meaning|use) (?:in|for)\b", "has no effect, cannot use"),
    (r"\bstands? (?:beside|in|behind|for|at)\b", "is next to, is in, lags, campaigns"),
    (r"\bask(?:s|ed)? (?:anew|again and again)\b", "retries"),
    (r"\bas (?:many|much) as it may\b", "up to its limit"),
    (r"\b(?:anew|ever) after\b", "afterwards"),
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
