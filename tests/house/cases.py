#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cases.py ROOT: every case of the log and every bug of other engines has its row in
tests/cases/README.md; the row names tests that exist and run, or gives a reason, and
leaves out none that is named after it."""

import os
import re

import tree

PAGE = "tests/cases/README.md"

# D13 and D14 are about security.
WANTED = [f"D{n:02}" for n in (*range(1, 37), 43, 44, 45) if n not in (13, 14)] + [
    f"R{n:02}" for n in range(1, 68)]

ROW = re.compile(r"^\| ([DR]\d\d) \| (.*?) \| (.*?) \|$", re.M)
TEST = re.compile(r"(?:\b([a-z]+/[a-z0-9_]+) )?`([^`]+)`")
AFTER_A_CASE = re.compile(
    r"^([DR]\d\d)[a-z]?_\w+(?=\(void \*\*)|\"([DR]\d\d)[ a-z,]*: [^\"]*\"", re.M | re.I)
FOLDERS = ("tests/cases/", "tests/sockets/", "tests/transport/")
REASON = re.compile(r"Reason: (?:\S+ ){4}")


def joined(text):
    """Adjacent strings as one."""
    return re.sub(r'"\s*\n\s*"', "", text)


def source_of(root, suite):
    """The text of a suite, or None."""
    for name in (f"tests/{suite}_test.c", f"tests/{suite}.py"):
        if os.path.isfile(os.path.join(root, name)):
            text = tree.read(root, name)
            rows = f"tests/{suite}_rows.h"
            if os.path.isfile(os.path.join(root, rows)):
                text += tree.read(root, rows)
            return joined(text)
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


def check_left_out(root, shown):
    """Tests named after a case that its row does not name."""
    problems = []
    for name in tree.files(root):
        if not name.startswith(FOLDERS) or not name.endswith("_test.c"):
            continue
        for match in AFTER_A_CASE.finditer(joined(tree.read(root, name))):
            case = (match.group(1) or match.group(2)).upper()
            test = match.group(0).strip('"')
            if f"`{test}`" not in shown.get(case, f"`{test}`"):
                problems.append(f"{name}: `{test}` is not in the row of {case} in {PAGE}")
    return problems


def check(root, wanted=None):
    problems, shown = [], {}
    text = tree.read(root, PAGE)
    wanted = wanted or WANTED
    for match in ROW.finditer(text):
        case, rule, evidence = match.groups()
        where = f"{PAGE}:{text.count(chr(10), 0, match.start()) + 1}: {case}"
        if case in shown:
            problems.append(f"{where}: has a row already")
        if case not in wanted:
            problems.append(f"{where}: is no case of the log")
        if not rule.strip():
            problems.append(f"{where}: says no rule")
        shown[case] = evidence
        problems += check_row(root, where, evidence)
    problems += [f"{PAGE}: {case} has no row" for case in wanted if case not in shown]
    problems += check_left_out(root, shown)
    return problems, len(shown)


def run(args):
    problems, checked = check(args[0])
    return tree.report("cases", problems, checked)


if __name__ == "__main__":
    tree.main(run)
