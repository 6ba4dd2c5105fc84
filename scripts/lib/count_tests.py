#!/usr/bin/env python3
"""Counts the single tests in what ctest wrote with --output-junit, and shows what failed.

  count_tests.py FILE.xml...      last line: "N passed, N failed, N skipped"

A GoogleTest program counts by its tests, any other program as one. A test that says "not run: needs
X" (or a program that exits with its skip code) is skipped. A program that fails without a failed
test, because it crashed or ran out of time, is one failure; so is a program that ran no test at
all, and a file that is not there.
Exit code 1 when anything failed.
"""

import collections
import re
import sys
import xml.etree.ElementTree as ElementTree

PASSED = re.compile(r"\[       OK \] \S+")
FAILED = re.compile(r"\[  FAILED  \] (\S+?),? .*\(\d+ ms\)$", re.MULTILINE)
NOT_RUN = re.compile(r"^not run: needs (.*?)(?: \(\S+\))?$", re.MULTILINE)
NO_TESTS = "[==========] 0 tests from 0 test suites ran."
SANITIZER = re.compile(r"runtime error:|(ERROR|WARNING): \w+Sanitizer")
SHOWN_FAILURES = 4
SHOWN_LINES = 14


class Counts:
    def __init__(self):
        self.passed = self.failed = 0
        self.needs = collections.Counter()
        self.failures = []  # (test, the lines it printed)

    def add_program(self, case):
        name = case.get("name", "?")
        text = case.findtext("system-out") or ""
        status = case.get("status")
        if status == "notrun" or case.find("skipped") is not None:
            self.needs[f"what {name} asks for"] += 1
            return
        not_run = NOT_RUN.findall(text)
        self.needs.update(not_run)
        failed = FAILED.findall(text)
        self.failed += len(failed)
        for test in failed:
            self.failures.append((f"{name}: {test}", lines_of(text, test)))
        passed = len(PASSED.findall(text)) - len(not_run)
        if NO_TESTS in text:
            self.failed += 1
            self.failures.append((f"{name}: ran no test at all", []))
        elif status != "run" and not failed:
            self.failed += 1
            self.failures.append((f"{name}: ended badly{last_test(text)}", last_words(text)))
        elif not failed and passed <= 0 and not not_run:
            passed = 1
        self.passed += max(passed, 0)

    def line(self):
        return f"{self.passed} passed, {self.failed} failed, {self.needs.total()} skipped"


def lines_of(text, test):
    start = text.rfind(f"[ RUN      ] {test}\n")
    end = text.find("[  FAILED  ]", start)
    return text[start:end].splitlines()[1 : 1 + SHOWN_LINES] if start >= 0 else []


def last_test(text):
    started = re.findall(r"\[ RUN      \] (\S+)", text)
    return f" in {started[-1]}" if started and f"[       OK ] {started[-1]}" not in text else ""


def last_words(text):
    """What a program said when it ended: from a sanitizer's report on, else its last lines."""
    lines = text.strip().splitlines()
    reports = [i for i, line in enumerate(lines) if SANITIZER.search(line)]
    return lines[reports[0] :][:SHOWN_LINES] if reports else lines[-SHOWN_LINES:]


def main(paths):
    counts = Counts()
    for path in paths:
        try:
            cases = ElementTree.parse(path).getroot().findall("testcase")
        except (OSError, ElementTree.ParseError) as error:
            counts.failed += 1
            counts.failures.append((f"{path}: no test results", [str(error)]))
            continue
        for case in cases:
            counts.add_program(case)
    for test, lines in counts.failures[:SHOWN_FAILURES]:
        print(f"FAILED {test}")
        for line in lines:
            print(f"    {line[:200]}")
    if rest := counts.failures[SHOWN_FAILURES:]:
        print("FAILED too: " + ", ".join(test for test, _ in rest))
    for needs, number in counts.needs.most_common():
        print(f"not run: needs {needs} ({number} test{'s' if number > 1 else ''})")
    print(counts.line())
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
