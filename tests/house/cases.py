#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cases.py ROOT: every case of the log and every bug of other engines has its row in
tests/cases/README.md, and the row names tests that exist and run, or gives a reason."""

import os
import re

import tree

PAGE = "tests/cases/README.md"

# D13 and D14 are about security, D34 about loops of others.
WANTED = [f"D{n:02}" for n in range(1, 37) if n not in (13, 14, 34)] + [
    f"R{n:02}" for n in range(1, 68)]

ROW = re.compile(r"^\| ([DR]\d\d) \| (.*?) \| (.*?) \|$", re.M)
TEST = re.compile(r"(?:\b([a-z]+/[a-z0-9_]+) )?`([^`]+)`")
REASON = re.compile(r"Reason: (?:\S+ ){4}")


def source_of(root, suite):
    """The text of a suite, adjacent strings joined, or None."""
    for name in (f"tests/{suite}_test.c", f"tests/{suite}.py"):
        if os.path.isfile(os.path.join(root, name)):
            text = tree.read(root, name)
            rows = f"tests/{suite}_rows.h"
            if os.path.isfile(os.path.join(root, rows)):
                text += tree.read(root, rows)
            return re.sub(r'"\s*\n\s*"', "", text)
    return None


def is_run(text, name):
    """A function that is defined and named once more, or a row's string."""
    if f'"{name}"' in text:
        return True
    word = re.escape(name)
    defined = re.search(rf"^(?:{word}\(void \*\*|def {word}\()", text, re.M)
    return bool(defined) and len(re.findall(rf"\b{word}\b", text)) > 1


def check_row(root, where, evidence):
    problems, suite = [], None
    found = TEST.findall(evidence)
    for named, test in found:
        suite = named or suite
        if not suite:
            problems.append(f"{where}: `{test}` is of no suite; write it as folder/suite `test`")
            continue
        text = source_of(root, suite)
        if text is None:
            problems.append(f"{where}: there is no suite {suite}")
        elif not is_run(text, test):
            problems.append(f"{where}: {suite} runs no test `{test}`")
    if not found and not REASON.match(evidence):
        problems.append(f"{where}: neither names a test nor says `Reason: ...` why there is none")
    return problems


def check(root, wanted=None):
    problems, seen = [], set()
    text = tree.read(root, PAGE)
    wanted = wanted or WANTED
    for match in ROW.finditer(text):
        case, rule, evidence = match.groups()
        where = f"{PAGE}:{text.count(chr(10), 0, match.start()) + 1}: {case}"
        if case in seen:
            problems.append(f"{where}: has a row already")
        if case not in wanted:
            problems.append(f"{where}: is no case of the log")
        if not rule.strip():
            problems.append(f"{where}: says no rule")
        seen.add(case)
        problems += check_row(root, where, evidence)
    problems += [f"{PAGE}: {case} has no row" for case in wanted if case not in seen]
    return problems, len(seen)


def run(args):
    problems, checked = check(args[0])
    return tree.report("cases", problems, checked)


if __name__ == "__main__":
    tree.main(run)
