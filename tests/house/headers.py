#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""headers.py CC CXX ROOT: every public header compiles alone, first thing in a file,
as C11, C++17 and C++20, without a warning, and so does a variable that each of its
..._DEFAULT macros initialises."""

import os
import re
import subprocess

import tree

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def defaults(text):
    """What a user writes: a variable for each macro SENNIT_X_DEFAULT of a sennit_x."""
    lines = ""
    for name in sorted(set(re.findall(r"^#define (SENNIT_\w+)_DEFAULT\b", text, flags=re.M))):
        struct = name.lower()
        if f"struct {struct} {{" in text:
            lines += (f"{struct} get_{struct}(void);\n"
                      f"{struct}\nget_{struct}(void)\n"
                      f"{{\n    {struct} x = {name}_DEFAULT;\n    return x;\n}}\n")
    return lines


def compile_alone(compiler, language, standard, folders, header, text):
    """The compiler's complaints about a file that includes only `header`."""
    command = [compiler, "-x", language, f"-std={standard}", "-fsyntax-only", *WARNINGS]
    for folder in folders:
        command += ["-I", folder]
    done = subprocess.run(command + ["-"], text=True,
                          input=f"#include <{header}>\n{defaults(text)}",
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
        for compiler, language, standard in ((cc, "c", "c11"), (cxx, "c++", "c++17"),
                                             (cxx, "c++", "c++20")):
            complaint = compile_alone(compiler, language, standard, folders, header,
                                      tree.read(root, name))
            if complaint:
                problems.append(f"{name}: not alone as {standard}:\n{complaint}")
    return problems, len(public)


def run(args):
    problems, checked = check(args[2], args[0], args[1])
    return tree.report("public headers", problems, checked)


if __name__ == "__main__":
    tree.main(run)
