#!/usr/bin/env python3
"""Finds expressions that a native reader stumbles over, in the text that users read.

    words.py FILE...

Prints FILE:LINE: the expression, and what to write instead; exits with 1 if there is one. What it reads of a file:

    .md     all but code blocks
    .proto  comments
    .go     string literals
    .py     string literals, and the docstrings of public names
    .java   string literals, and the Javadoc of public names, except in packages named internal

Code in backquotes, calls and link targets are not read, nor literals without a space.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
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

# A comment, a literal of text, or a character, in Go, Java and protos. Characters are named so that '"' starts no text.
TOKEN = re.compile(
    r"""
    (?P<line> //[^\n]*)
    | (?P<javadoc> /\*\*(?!/).*?\*/) | /\*.*?\*/
    | "{3}(?P<block>.*?)(?<!\\)"{3} | `(?P<raw>[^`]*)` | "(?P<text>(?:\\.|[^"\\\n])*)"
    | '(?:\\.|[^'\\\n])*'
    """,
    re.DOTALL | re.VERBOSE,
)
LITERALS = {"block", "raw", "text"}
# What is code within prose: in backquotes or Javadoc's braces, calls, and the targets of links.
CODE = re.compile(r"`[^`]*`|\b\w+\(\)|\{@(?:code|literal|link\w*)\s[^}]*\}|(?<=\])\([^)]*\)")

# What a line of a comment starts with.
LEADER = re.compile(r"^\s*(?://|/\*\*|\*/?(?=\s|$))?\s*")

Lines = Iterator[tuple[int, str]]


def page(text: str) -> Lines:
    r"""Yields the lines of a page that are no code, with their numbers.

    >>> list(page("one\n```\ntwo\n```\nthree"))
    [(1, 'one'), (5, 'three')]
    """
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def tokens(text: str, kinds: set[str]) -> Lines:
    r"""Yields the lines of some kinds of comments and literals. A literal without a space is a name or a format.

    >>> list(tokens('a := "one \\"two\\"" + `three\nfour five` + "six" // seven "eight nine"', LITERALS))
    [(1, 'one "two"'), (1, 'three'), (2, 'four five')]
    >>> list(tokens("// one 'two\nrune('\"'); x = 1 // three \" four", {"line"}))
    [(1, "// one 'two"), (2, '// three " four')]
    >>> list(tokens('/** One.\n * Two. */ f("/* three */"); /* four */', {"javadoc"}))
    [(1, '/** One.'), (2, ' * Two. */')]
    """
    for token in TOKEN.finditer(text):
        kind = token.lastgroup
        if kind not in kinds or kind in LITERALS and " " not in token[kind]:
            continue
        content = token[kind]
        if kind == "text":
            content = content.replace("\\n", " ").replace('\\"', '"')
        first = text.count("\n", 0, token.start(kind)) + 1
        yield from enumerate(content.split("\n"), first)


def python(text: str, exported: set[str] | None = None) -> Lines:
    r'''Yields the lines of literals and of the docstrings of public names: of those that are exported, in a private module.

    >>> list(python('def f():\n  """One.\n\n  Two."""\n  raise X(f"three {f} four" "five")\ndef _g():\n  """Six seven."""'))
    [(2, 'One.'), (3, ''), (4, '  Two.'), (5, 'three '), (5, ' fourfive')]
    >>> list(python('"""One two."""\nclass A:\n  """Three four."""\nclass B:\n  """Five six."""', {"B"}))
    [(5, 'Five six.')]
    '''
    tree = ast.parse(text)
    named = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    unread = set()

    def skip(node: ast.AST, private: bool) -> None:
        if private and isinstance(node, (*named, ast.Module)) and ast.get_docstring(node, clean=False) is not None:
            unread.add(id(node.body[0].value))
        for child in ast.iter_child_nodes(node):
            hidden = isinstance(child, named) and child.name.startswith("_") and not child.name.startswith("__")
            if node is tree and exported is not None and isinstance(child, named):
                hidden = child.name not in exported
            skip(child, hidden or (private and node is not tree))

    skip(tree, exported is not None)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value and id(node) not in unread:
            yield from enumerate(node.value.split("\n"), node.lineno)


def exported(file: Path) -> set[str] | None:
    """Returns which names of a private module its package exports; None: the module is public."""
    if not any(part.startswith("_") and part != "__init__.py" for part in file.parts):
        return None
    package = file.parent / "__init__.py"
    return set(re.findall(r'^    "(\w+)",$', package.read_text(encoding="utf-8"), re.MULTILINE)) if package.exists() else set()


def java(text: str) -> Lines:
    r"""Yields the lines of literals and of the Javadoc of what other packages can use.

    >>> list(java("/** One. */\npublic class A {\n  /** Two. */\n  @B\n  public void c() {}\n  /** Three. */\n  void d() {}\n}"))
    [(1, '/** One. */'), (3, '  /** Two. */')]
    >>> list(java("/** One. */\npublic interface A {\n  /** Two. */\n  void b();\n}"))
    [(1, '/** One. */'), (3, '  /** Two. */')]
    """
    yield from tokens(text, LITERALS)
    lines = text.split("\n")
    if not EXPORTED.search(text):
        return
    implied = IMPLIED.search(text) is not None
    for token in TOKEN.finditer(text):
        if token.lastgroup != "javadoc":
            continue
        first, last = (text.count("\n", 0, at) for at in token.span())
        declared = next((line for line in lines[last + 1 :] if line.strip() and not line.lstrip().startswith("@")), "")
        if re.search(r"\b(?:public|protected)\b", declared) or implied and not PRIVATE.search(declared):
            yield from enumerate(lines[first : last + 1], first + 1)


# A type that other packages can use, one whose members are public without saying so, and members that are private nevertheless.
EXPORTED = re.compile(r"^public\b", re.MULTILINE)
IMPLIED = re.compile(r"^public (?:sealed )?(?:interface|enum|@interface)\b", re.MULTILINE)
PRIVATE = re.compile(r"^ {4}|\b(?:private|static final)\b")

READ = {
    ".md": lambda text, _: page(text),
    ".proto": lambda text, _: tokens(text, {"line"}),
    ".go": lambda text, _: tokens(text, LITERALS),
    ".py": lambda text, file: python(text, exported(file)),
    ".java": lambda text, file: tokens(text, LITERALS) if "internal" in file.parts else java(text),
}


def hits(lines: Lines) -> Iterator[tuple[int, str, str]]:
    """Yields the line at which each expression starts, the expression, and what to write instead. It may run over the end of the line.

    >>> list(hits([(1, "// It goes"), (2, "// on. `It goes on`"), (4, "twice")]))
    [(1, 'goes on', 'continue, resume')]
    """
    text, numbers = "", []
    for number, line in lines:
        if numbers and number - numbers[-1] > 1:
            text, numbers = text + "\n", [*numbers, number]
        text, numbers = text + CODE.sub("`", LEADER.sub("", line)) + "\n", [*numbers, number]
    for expression, better in RULES:
        for hit in re.finditer(expression.replace(" ", r"\s"), text, re.MULTILINE):
            start = hit.end() - len(hit[0].lstrip(".;:| \n"))
            yield numbers[text.count("\n", 0, start)], " ".join(text[start : hit.end()].split()), better


def main(files: list[str]) -> int:
    found = 0
    for file in map(Path, files):
        for number, expression, better in sorted(hits(READ[file.suffix](file.read_text(encoding="utf-8"), file))):
            print(f"{file}:{number}: {expression!r}: write: {better}")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
