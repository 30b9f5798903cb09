#!/usr/bin/env python3
"""Measures how the Go code is divided: methods of an object, lines and files of a package, imports between packages.

    house.py [--check | --at COMMIT]

Tests and generated code are not counted. The limits are those of CONTRIBUTING.md: 30 methods an object, 5,000 lines and 25 files a
package, 500 lines a file. With --check it exits with 1 if one of ROOMS misses a limit, one of OBJECTS has an object or a file that does, or
packages import each other in a circle. With --at it measures the files of a commit, to compare with those that are here.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from pathlib import PurePosixPath

MODULE = "github.com/tenure-io/tenure/"
METHODS, LINES, FILES, FILE_LINES, LARGEST = 30, 5000, 25, 500, 10
# What is held to all limits, and what to those of objects and files only, because it is one package for its users.
ROOMS = ("server", "raftnode", "storage", "cmd/tenure", "agent", "gossip", "consulhttp")
OBJECTS = (*ROOMS, "clients/go")

METHOD = re.compile(r"^func \(\w* ?\*?(\w+)(?:\[[^\]]*\])?\) ", re.MULTILINE)
IMPORT = re.compile(r'^\s*(?:\w+ )?"' + re.escape(MODULE) + r'([^"]+)"$', re.MULTILINE)


def sources(commit: str | None) -> dict[str, str]:
    """Returns the text of each file that counts: those here, or those of a commit."""

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", *arguments], check=True, stdout=subprocess.PIPE).stdout

    texts = {}
    if commit is None:
        for file in git("ls-files", "*.go").decode().split():
            with open(file, encoding="utf-8") as source:
                texts[file] = source.read()
    else:
        with tarfile.open(fileobj=io.BytesIO(git("archive", "--format=tar", commit))) as files:
            for member in files:
                if member.isfile() and member.name.endswith(".go"):
                    texts[member.name] = files.extractfile(member).read().decode()
    return {f: text for f, text in texts.items() if not f.endswith("_test.go") and not f.startswith("gen/")}


def within(place: str, roots: tuple[str, ...]) -> bool:
    """Reports whether a package, or something in it, stands under one of some folders."""
    return any(place == root or place.startswith((root + "/", root + ".")) for root in roots)


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Returns one path for each circle that a depth-first walk meets."""
    found, done = [], set()

    def walk(package: str, path: list[str]) -> None:
        if package in path:
            found.append(path[path.index(package) :] + [package])
            return
        if package in done:
            return
        for below in sorted(imports[package]):
            walk(below, [*path, package])
        done.add(package)

    for package in sorted(imports):
        walk(package, [])
    return found


def main(arguments: list[str]) -> int:
    commit = arguments[1] if len(arguments) == 2 and arguments[0] == "--at" else None
    if commit is None and arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    methods, lines, files = Counter(), Counter(), Counter()
    long_files: list[tuple[int, str]] = []
    imports: dict[str, set[str]] = defaultdict(set)
    for file, text in sources(commit).items():
        package = str(PurePosixPath(file).parent)
        count = text.count("\n")
        lines[package] += count
        files[package] += 1
        methods.update(f"{package}.{receiver}" for receiver in METHOD.findall(text))
        imports[package] |= {p for p in IMPORT.findall(text) if not p.startswith("gen/")}
        if count > FILE_LINES:
            long_files.append((count, file))

    print(f"largest objects (methods, limit {METHODS}):")
    for name, count in methods.most_common(LARGEST):
        print(f"  {count:5d}  {name}")
    print(f"largest packages (lines, limit {LINES}; files, limit {FILES}; imports of this module's packages):")
    for package, count in lines.most_common(LARGEST):
        print(f"  {count:5d}  {files[package]:3d}  {len(imports[package]):3d}  {package}")
    print(f"imports between packages: {sum(len(i) for i in imports.values())}")
    round_trips = circles(imports)
    print(f"circles: {len(round_trips)}")
    for path in round_trips:
        print("  " + " -> ".join(path))

    missed = [f"{count} methods: {name}" for name, count in methods.most_common() if count > METHODS and within(name, OBJECTS)]
    for package in sorted(lines):
        if within(package, ROOMS):
            if lines[package] > LINES:
                missed.append(f"{lines[package]} lines: {package}")
            if files[package] > FILES:
                missed.append(f"{files[package]} files: {package}")
    missed += [f"{count} lines: {file}" for count, file in sorted(long_files, reverse=True) if within(file, OBJECTS)]
    print(f"limits missed in {', '.join(OBJECTS)}: {len(missed)}")
    for line in missed:
        print("  " + line)
    return 1 if "--check" in arguments and (missed or round_trips) else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError:
        sys.exit(2)  # git has said what is wrong.
