#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""layering.py ROOT: reads the #include lines of all C files below ROOT against
layers.ini. An arrow that points up, a `../`, a header from nowhere, or a source
file that does not begin with its own header is a finding."""

import os
import re

import layers
import tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def includes(text):
    """(line, quoted, header) of each #include."""
    code = tree.without_comments(text)
    for match in INCLUDE.finditer(code):
        yield code.count("\n", 0, match.start(2)) + 1, match.group(1) == '"', match.group(2)


def resolve(table, present, path, header):
    """The repository file that `"header"` names in file `path`, or None."""
    for root in [os.path.dirname(path)] + table.roots:
        candidate = os.path.normpath(os.path.join(root, header))
        if candidate in present:
            return candidate
    return None


def check_one(table, present, path, layer, quoted, header):
    """What is wrong with one #include, or None."""
    if ".." in header.split("/"):
        return f'"{header}" climbs; include from the folder root instead'
    group = table.group_of(header)
    if group == "generated":
        return None
    if quoted:
        target = resolve(table, present, path, header)
        if not target:
            return (f'"{header}" is not in the repository; '
                    f"headers of the system and of others go in <>")
        owner = table.layer_of(target)
        if not owner:
            return f"{target} is in no layer of layers.ini"
        if owner.name not in layer.uses:
            return (f'"{header}" belongs to layer {owner.name}, which layer {layer.name} '
                    f"may not include (it may: {' '.join(sorted(layer.uses))})")
        return None
    if not group:
        return f"<{header}> is in no group of [headers] in layers.ini"
    if group not in layer.uses and group not in layer.outside:
        return (f"<{header}> belongs to {group}, which layer {layer.name} may not include "
                f"(it may: {' '.join(sorted(layer.uses | layer.outside))})")
    return None


def own_headers(present, path):
    """Headers that `path`, a source file, has to begin with one of."""
    folder, name = os.path.split(path[:-len(".c")])
    beside = os.path.join(folder, name + ".h")
    if beside in present:
        return {beside}
    public = os.path.join(folder, "include/sennit", name + ".h")
    return {public} if public in present else set()


def check(root, table=None, names=None):
    """All findings below `root` and the number of files looked at."""
    table = table or layers.load()
    names = names if names is not None else tree.files(root)
    present = set(names)
    problems, checked = [], 0
    for path in filter(tree.is_c, names):
        layer = table.layer_of(path)
        if not layer:
            problems.append(f"{path}:1: is in no layer of layers.ini")
            continue
        checked += 1
        found = list(includes(tree.read(root, path)))
        for line, quoted, header in found:
            problem = check_one(table, present, path, layer, quoted, header)
            if problem:
                problems.append(f"{path}:{line}: {problem}")
        own = own_headers(present, path) if path.endswith(".c") else set()
        if own:
            first = found[0][2] if found else ""
            if not any(header == first or header.endswith("/" + first) for header in own):
                problems.append(f"{path}:1: must include its own header first "
                                f"({', '.join(sorted(own))})")
    return problems, checked


def run(args):
    problems, checked = check(args[0])
    return tree.report("layering", problems, checked)


if __name__ == "__main__":
    tree.main(run)
