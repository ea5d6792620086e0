#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""readme.py ROOT FILE...: every program shown in a page is a file that is built and
run. A block of c, python or snt must follow `<!-- file: PATH -->`, and be that file
from its first line after the licence on."""

import re

import tree

PROGRAMS = {"c", "python", "snt"}
BLOCK = re.compile(r"(?:<!-- file: (\S+) -->\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)


def shown(text):
    """A file as a page shows it: without the lines up to and with its licence."""
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines[:3]):
        if "SPDX-License-Identifier" in line:
            return "".join(lines[index + 1:])
    return text


def check_page(root, page, text):
    problems, checked = [], 0
    for match in BLOCK.finditer(text):
        path, language, block = match.groups()
        where = f"{page}:{text.count(chr(10), 0, match.start()) + 1}"
        if not path:
            if language in PROGRAMS:
                problems.append(f"{where}: a {language} block without <!-- file: PATH -->")
            continue
        checked += 1
        try:
            wanted = shown(tree.read(root, path))
        except OSError as error:
            problems.append(f"{where}: {path}: {error.strerror}")
            continue
        if block != wanted:
            problems.append(f"{where}: the block differs from {path}; copy the file in")
    return problems, checked


def run(args):
    problems, checked = [], 0
    for page in args[1:]:
        found, count = check_page(args[0], page, tree.read(args[0], page))
        problems += found
        checked += count
    return tree.report("programs in pages", problems, checked)


if __name__ == "__main__":
    tree.main(run)
