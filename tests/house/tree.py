# SPDX-License-Identifier: MIT
"""What the house checks share: the repository's files, and how they report."""

import os
import re
import subprocess
import sys

SKIPPED_FOLDERS = {".git", "build", "__pycache__"}


def files(root):
    """Paths below `root`, relative to it, that belong to the repository."""
    try:
        out = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"],
            capture_output=True, check=True).stdout.decode()
        if os.path.exists(os.path.join(root, ".git")):
            names = [name for name in out.split("\0") if name]
            return sorted(n for n in names if os.path.isfile(os.path.join(root, n)))
    except (OSError, subprocess.CalledProcessError):
        pass  # an unpacked archive, or no git: the walk below finds the same
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        for name in names:
            found.append(os.path.relpath(os.path.join(folder, name), root))
    return sorted(found)


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def is_c(name):
    return name.endswith((".c", ".h"))


def without_comments(text):
    """C text with comments blanked out, line numbers kept."""
    def blank(match):
        token = match.group(0)
        if token.startswith("/"):
            return "\n" * token.count("\n") or " "
        return token
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def report(what, problems, checked):
    """Prints the findings and gives the exit code. Nothing checked is a finding."""
    if not checked:
        problems = list(problems) + ["nothing was found to check"]
    for problem in problems:
        print(problem)
    print(f"{what}: {checked} checked, {len(problems)} problems")
    return 1 if problems else 0


def main(run):
    sys.exit(run(sys.argv[1:]))
