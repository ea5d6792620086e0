#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""readme.py ROOT [--write] FILE...: every program shown in a page is a file that is built and
run. A block of c, python or snt must follow `<!-- file: PATH -->`, and be that file
from its first line after the licence on. With --write the files are copied in."""

import os
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
            problems.append(f"{where}: the block differs from {path}; run tests/house/readme.py . --write {page}")
    return problems, checked


def fill_page(root, text):
    """The page with every named file copied into its block."""
    def fill(match):
        path, language, _ = match.groups()
        if not path:
            return match.group(0)
        return f"<!-- file: {path} -->\n```{language}\n{shown(tree.read(root, path))}```"
    return BLOCK.sub(fill, text)


def run(args):
    root, write = args[0], "--write" in args
    problems, checked = [], 0
    for page in (name for name in args[1:] if name != "--write"):
        text = tree.read(root, page)
        if write:
            text = fill_page(root, text)
            with open(os.path.join(root, page), "w", encoding="utf-8") as file:
                file.write(text)
        found, count = check_page(root, page, text)
        problems += found
        checked += count
    return tree.report("programs in pages", problems, checked)


if __name__ == "__main__":
    tree.main(run)
