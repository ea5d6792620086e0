#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""purity.py OBJECTS: OBJECTS holds lines `FOLDER OBJECT;...`, as CMake writes them.
The objects of layers marked pure in layers.ini may refer only to the C functions
listed there, to their own layer and to layers they may use: no clock, no socket, no
random source can hide behind an extern declaration."""

import os
import subprocess

import layers
import tree


def read_symbols(objects):
    """{object: (defined, undefined)} by one run of nm."""
    out = subprocess.run(["nm", "-g", "-A", *objects], capture_output=True, text=True,
                         check=True).stdout
    symbols = {obj: (set(), set()) for obj in objects}
    for line in out.splitlines():
        obj, _, rest = line.partition(":")
        words = rest.split()
        symbols[obj][words[-2] in "Uw"].add(words[-1])
    return symbols


def layer_of_object(table, folder, obj):
    """Layer of the source in `folder` that CMake compiled into `obj`, or None."""
    _, _, source = obj.partition(".dir/")
    return table.layer_of(os.path.normpath(os.path.join(folder, source[:-len(".o")])))


def read_objects(path, table):
    """{layer: [object, ...]} of the file CMake wrote."""
    objects = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            folder, *paths = line.replace(";", " ").split()
            for obj in paths:
                layer = layer_of_object(table, folder, obj)
                if layer:
                    objects.setdefault(layer.name, []).append(obj)
    return objects


def check(objects, table):
    symbols = read_symbols([obj for paths in objects.values() for obj in paths])
    defined = {name: set().union(*(symbols[obj][0] for obj in paths))
               for name, paths in objects.items() if paths}
    problems, checked = [], 0
    for layer in table.layers.values():
        if not layer.pure:
            continue
        if layer.name not in defined:
            problems.append(f"layer {layer.name} is pure but has no objects to check")
            continue
        allowed = table.pure_symbols["any"] | table.pure_symbols.get(layer.name, set())
        for used in layer.uses:
            allowed |= defined.get(used, set())
        for obj in objects[layer.name]:
            checked += 1
            # Names from __ on are the compiler's: sanitizers, stack protector, gcov.
            for symbol in sorted(symbols[obj][1] - allowed):
                if not symbol.startswith("__") and symbol != "_GLOBAL_OFFSET_TABLE_":
                    problems.append(
                        f"{obj}: layer {layer.name} calls {symbol}, which is neither in "
                        f"[pure] of layers.ini nor in a layer it may use")
                elif symbol == "__errno_location":
                    problems.append(f"{obj}: layer {layer.name} looks at errno")
    return problems, checked


def run(args):
    table = layers.load()
    problems, checked = check(read_objects(args[0], table), table)
    return tree.report("pure layers", problems, checked)


if __name__ == "__main__":
    tree.main(run)
