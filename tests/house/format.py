#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""format.py ROOT: every C file is laid out as .clang-format says. Version 14 of
clang-format decides, because versions differ."""

import os
import re
import shutil
import subprocess

import tree

FINDING = re.compile(r"^(.+?):(\d+):\d+: error:", re.M)


def check(root):
    program = shutil.which("clang-format-14")
    if not program:
        return ["clang-format-14 is not installed; run: apt-get install clang-format-14"], 1
    names = [name for name in tree.files(root) if tree.is_c(name)]
    # One run for all: starting it costs more than a file does.
    done = subprocess.run([program, "--dry-run", "-Werror", "--style=file"] +
                          [os.path.join(root, name) for name in names],
                          capture_output=True, text=True, check=False)
    wrong = {os.path.relpath(match.group(1), root): match.group(2)
             for match in reversed(list(FINDING.finditer(done.stderr)))}
    problems = [f"{name}:{line}: would be laid out differently; to mend it: "
                f"clang-format-14 -i {name}" for name, line in sorted(wrong.items())]
    if done.returncode and not problems:
        problems = [done.stderr.strip() or "clang-format-14 failed"]
    return problems, len(names)


def run(args):
    problems, checked = check(args[0])
    return tree.report("format", problems, checked)


if __name__ == "__main__":
    tree.main(run)
