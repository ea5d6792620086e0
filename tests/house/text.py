#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""text.py ROOT: no file of the repository names a path of somebody's machine or holds
an open end without an issue number, each source file says its licence, and the top
level is the fixed one."""

import os
import re

import tree

# Split, so that this file passes its own check.
RULES = [
    (re.compile(r"(?<![\w.}])/(?:root|home|work)" + "/"),
     "a path of one machine; use a relative or a temporary one"),
    (re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b(?!\(#\d+\))"),
     "an open end without an issue; write TO" + "DO(#12) or finish it"),
]

TOP = {"transport", "rpc", "cluster", "codegen", "idl", "examples", "tests", "bench",
       "CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", "CHANGELOG.md",
       "CONTRIBUTING.md"}

SOURCES = (".c", ".h", ".py", ".cmake", ".snt", "CMakeLists.txt")


def check_file(name, text):
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, why in RULES:
            if pattern.search(line):
                problems.append(f"{name}:{number}: {why}")
    # Fixtures of the compiler are inputs, wrong ones among them.
    if name.endswith(SOURCES) and not name.startswith("tests/codegen/"):
        if "SPDX-License-Identifier: MIT" not in text[:400]:
            problems.append(f"{name}:1: does not say SPDX-License-Identifier: MIT")
    return problems


def check_top(names):
    problems = []
    top = {name.split("/")[0] for name in names}
    for name in sorted(top - TOP):
        if not name.startswith("."):
            problems.append(f"{name}: the top level is fixed; it belongs into a folder")
    for name in sorted(TOP - top):
        problems.append(f"{name}: is missing at the top level")
    for name in sorted(n for n in TOP & top if "." not in n and n != "LICENSE"):
        if name + "/README.md" not in names:
            problems.append(f"{name}/README.md: is missing; it says what lives there")
    return problems


def check(root):
    names = tree.files(root)
    problems = check_top(names)
    for name in names:
        with open(os.path.join(root, name), "rb") as file:
            data = file.read()
        if b"\0" not in data:
            problems += check_file(name, data.decode("utf-8", "replace"))
    return problems, len(names)


def run(args):
    problems, checked = check(args[0])
    return tree.report("text", problems, checked)


if __name__ == "__main__":
    tree.main(run)
