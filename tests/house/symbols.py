#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""symbols.py LIBRARY HEADER...: what the shared library exports must be exactly what
its public headers declare SENNIT_API."""

import re
import subprocess

import tree


def declared(text):
    """Names declared SENNIT_API in a header."""
    code = tree.without_comments(text)
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", code, flags=re.M)
    names = set()
    for match in re.finditer(r"\bSENNIT_API\b([^;{]*)", code):
        name = re.search(r"([A-Za-z_]\w*)\s*(?:\(|\[|=|$)", match.group(1).strip())
        names.add(name.group(1) if name else match.group(1).strip())
    return names


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library],
                         capture_output=True, text=True, check=True)
    names = {line.split()[-1].split("@")[0] for line in out.stdout.splitlines()}
    # Names from _ on are the linker's and the sanitizers'.
    return {name for name in names if not name.startswith("_")}


def check(library, headers):
    promised = set()
    for header in headers:
        promised |= declared(tree.read("/", header))
    given = exported(library)
    problems = [f"{library}: exports {name}, which no public header declares SENNIT_API"
                for name in sorted(given - promised)]
    problems += [f"{library}: {name} is declared SENNIT_API but not exported"
                 for name in sorted(promised - given)]
    return problems, len(promised)


def run(args):
    problems, checked = check(args[0], args[1:])
    return tree.report("symbols", problems, checked)


if __name__ == "__main__":
    tree.main(run)
