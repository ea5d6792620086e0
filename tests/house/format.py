#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""format.py ROOT: every C file is laid out as .clang-format says. Version 14 of
clang-format decides, because versions differ."""

import os
import shutil
import subprocess

import tree


def check(root):
    program = shutil.which("clang-format-14")
    if not program:
        return ["clang-format-14 is not installed; run: apt-get install clang-format-14"], 1
    names = [name for name in tree.files(root) if tree.is_c(name)]
    problems = []
    for name in names:
        done = subprocess.run([program, "--dry-run", "-Werror", "--style=file",
                               os.path.join(root, name)],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            first = (done.stderr.strip().splitlines() or ["not formatted"])[0]
            problems.append(f"{first}\n    to mend it: clang-format-14 -i {name}")
    return problems, len(names)


def run(args):
    problems, checked = check(args[0])
    return tree.report("format", problems, checked)


if __name__ == "__main__":
    tree.main(run)
