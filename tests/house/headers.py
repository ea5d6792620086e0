#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""headers.py CC CXX ROOT: every public header compiles alone, first thing in a file,
as C11 and as C++17, without a warning."""

import os
import re
import subprocess

import tree

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def compile_alone(compiler, language, standard, folders, header):
    """The compiler's complaints about a file that includes only `header`."""
    command = [compiler, "-x", language, f"-std={standard}", "-fsyntax-only", *WARNINGS]
    for folder in folders:
        command += ["-I", folder]
    done = subprocess.run(command + ["-"], input=f"#include <{header}>\n", text=True,
                          capture_output=True, check=False)
    return done.stderr if done.returncode else ""


def check(root, cc, cxx):
    public = [name for name in tree.files(root)
              if re.search(r"(^|/)include/.*\.h$", name)]
    folders = sorted({os.path.join(root, name[:name.index("include/")] + "include")
                      for name in public})
    problems = []
    for name in public:
        header = name[name.index("include/") + len("include/"):]
        for compiler, language, standard in ((cc, "c", "c11"), (cxx, "c++", "c++17")):
            complaint = compile_alone(compiler, language, standard, folders, header)
            if complaint:
                problems.append(f"{name}: not alone as {standard}:\n{complaint}")
    return problems, len(public)


def run(args):
    problems, checked = check(args[2], args[0], args[1])
    return tree.report("public headers", problems, checked)


if __name__ == "__main__":
    tree.main(run)
