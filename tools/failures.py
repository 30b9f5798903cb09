#!/usr/bin/env python3
"""Prints what the log of a failed run says about its failures, in a few lines.

    failures.py LOG [LINES]

It knows what go test with and without -v, pytest and Maven Surefire write, wherever in the log it stands, and prints each
failed test with its own messages. Where it finds no failed test it prints the end of the log. At most LINES lines, 120
unless said.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LINES = 120
PER_TEST = 30
PER_MESSAGE = 10
PER_CRASH = 30
PER_END = 40
WIDTH = 400

GO_SWITCH = re.compile(r"^=== (RUN|CONT|NAME|PAUSE|ATTR)\s+(\S+)")
GO_RESULT = re.compile(r"^ *--- (FAIL|PASS|SKIP|BENCH): (\S+)(.*)")
GO_PACKAGE = re.compile(r"^(ok|FAIL|\?|---)\s+(\S+)\s+(\S.*)$")
GO_MESSAGE = re.compile(r"^ *[\w./-]+\.go:\d+: ")
GO_CRASH = re.compile(r"^(panic: |fatal error: |WARNING: DATA RACE|signal: |goleak: |SIG[A-Z]+: )")
GO_BUILD = re.compile(r"^# \S+")
PYTEST_BEGIN = re.compile(r"^=+ (FAILURES|ERRORS) =+$")
PYTEST_TEST = re.compile(r"^_{3,} (.+) _{3,}$")
PYTEST_SECTION = re.compile(r"^=+ .* =+$")
SUREFIRE_TEST = re.compile(r"<<< (FAILURE|ERROR)!")
SUREFIRE_RESULT = re.compile(r"^\[ERROR\] +(Failures:|Errors:|\S+[.:]\S+.*|Tests run:.*)$")
BLOCK = re.compile(r"^(FAIL in |--- FAIL: |crash, in |# |_{3,} |\[ERROR\] .*<<< )")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def shorten(lines: list[str], limit: int) -> list[str]:
    """Returns the beginning and the end of what is too long."""
    if len(lines) <= limit:
        return lines
    head = limit * 2 // 3
    tail = limit - head - 1
    return [*lines[:head], f"        … {len(lines) - head - tail} lines …", *lines[len(lines) - tail :]]


def messages(lines: list[str]) -> list[str]:
    """Shortens each message of a Go test, and then all of them."""
    groups: list[list[str]] = []
    for line in lines:
        if GO_MESSAGE.match(line) or not groups:
            groups.append([])
        groups[-1].append(line)
    return shorten([line for group in groups for line in shorten(group, PER_MESSAGE)], PER_TEST)


def share(report: list[str], limit: int) -> list[str]:
    """Shortens a report that is too long so that the beginning of each failure stays."""
    blocks: list[list[str]] = []
    for line in report:
        if BLOCK.match(line) or not blocks:
            blocks.append([])
        blocks[-1].append(line)
    for most in range(PER_CRASH + 2, 1, -1):
        report = [line for block in blocks for line in shorten(block, most)]
        if len(report) <= limit:
            break
    return shorten(report, limit)


class GoPackage:
    """What one package's tests wrote so far."""

    def __init__(self) -> None:
        self.said: dict[str, list[str]] = {}
        self.failed: list[tuple[str, str]] = []
        self.crash: list[str] = []
        self.everything: list[str] = []
        self.current = ""
        self.crashing = False

    def take(self, line: str) -> None:
        """Takes a line of the package's output."""
        if switch := GO_SWITCH.match(line):
            self.current, self.crashing = switch[2], False
            return
        if result := GO_RESULT.match(line):
            self.current, self.crashing = result[2], False
            if result[1] == "FAIL":
                self.failed.append((result[2], result[3]))
            return
        if line.strip() in ("", "FAIL", "PASS") or re.fullmatch(r"=+", line):
            return
        self.everything.append(line)
        if GO_CRASH.match(line):
            self.crashing = True
            if not self.crash:
                self.crash.append(f"crash, in {self.current or 'no test'}:")
        elif GO_MESSAGE.match(line):
            self.crashing = False
        if self.crashing:
            self.crash.append(line)
        else:
            self.said.setdefault(self.current, []).append(line)

    def report(self, end: str) -> list[str]:
        """Returns what there is to say of it, after it failed."""
        report = [f"FAIL in {end}"]
        for name, took in self.failed:
            parent = any(other.startswith(name + "/") for other, _ in self.failed)
            said = self.said.get(name, [])
            if parent and not any(GO_MESSAGE.match(line) for line in said):
                continue
            # Of a table of many the failed ones speak for themselves.
            report += [f"--- FAIL: {name}{took}", *(shorten(said, 6) if parent else messages(said))]
        if self.crash:
            report += shorten(self.crash, PER_CRASH)
        if not self.failed and not self.crash:
            report += shorten(self.everything[-PER_END:], PER_END)
        return report


def go(lines: list[str]) -> list[str]:
    """Returns the failures of go test, and of its builds."""
    report: list[str] = []
    package = GoPackage()
    build: list[str] | None = None
    for line in lines:
        end = GO_PACKAGE.match(line)
        if end and end[1] != "---":
            if end[1] == "FAIL" and "[build failed]" not in line:
                report += package.report(f"{end[2]} {end[3]}")
            elif end[1] == "FAIL":
                report.append(line)
            package, build = GoPackage(), None
        elif GO_BUILD.match(line):
            build = []
            report.append(line)
        elif build is not None and re.match(r"^(vet: )?[\w./-]+\.go:\d+", line):
            build.append(line)
            if len(build) <= PER_MESSAGE:
                report.append(line)
        else:
            build = None
            package.take(line)
    if package.failed or package.crash:
        report += package.report("a package that did not end")
    return report


def pytest(lines: list[str]) -> list[str]:
    """Returns the failures of pytest."""
    report: list[str] = []
    inside = False
    block: list[str] = []

    def flush() -> None:
        if block:
            # The end of a traceback says most: the assertion, and where it stands.
            report.extend([block[0], *(block[-PER_TEST + 1 :] if len(block) > PER_TEST else block[1:])])
        block.clear()

    for line in lines:
        if PYTEST_BEGIN.match(line):
            inside = True
        elif PYTEST_SECTION.match(line):
            flush()
            inside = False
        elif inside and PYTEST_TEST.match(line):
            flush()
            block.append(line)
        elif inside and block and line.strip():
            block.append(line)
        elif not inside and re.match(r"^(FAILED|ERROR) \S+", line):
            report.append(line)
    flush()
    return report


def surefire(lines: list[str]) -> list[str]:
    """Returns the failures of Maven Surefire."""
    report: list[str] = []
    left = 0
    for line in lines:
        if SUREFIRE_TEST.search(line):
            report.append(line)
            left = PER_MESSAGE
        elif SUREFIRE_RESULT.match(line) or line.startswith("[ERROR] COMPILATION ERROR"):
            report.append(line)
            left = 0
        elif left and line.strip() and not line.startswith("[INFO]"):
            report.append(line)
            left -= 1
    return report


def main() -> None:
    """Prints the failures of a log."""
    lines = ESCAPE.sub("", Path(sys.argv[1]).read_text(errors="replace")).splitlines()
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else LINES
    report = go(lines) + pytest(lines) + surefire(lines)
    # How it ended says most where no test failed: a linter, a compiler, a step that was stopped.
    end = lines[-(8 if report else PER_END) :]
    report = [*share(report, max(1, limit - len(end) - 1)), f"----- end of {sys.argv[1]}", *end]
    for line in report[-limit:]:
        print(line if len(line) <= WIDTH else line[:WIDTH] + "…")


if __name__ == "__main__":
    main()
