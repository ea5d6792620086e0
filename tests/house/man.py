#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""man.py SENNIT PAGE: the manual page of the program has every command and every option
that --help tells of, and none that it does not, and groff has nothing to say about it."""

import re
import subprocess
import sys

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def helped(program):
    """What --help tells of: commands, and all their options."""
    def say(*args):
        return subprocess.run([program, *args], capture_output=True, text=True,
                              check=True).stdout
    overview = say("--help")
    commands = re.findall(r"^  ([a-z]+) ", overview, flags=re.M)
    options = set(OPTION.findall(overview)) | {"--help"}
    for command in commands:
        options |= set(OPTION.findall(say(command, "--help")))
    return commands, options


def rendered(page):
    """The page as plain text, and what groff has against it."""
    done = subprocess.run(["groff", "-mandoc", "-ww", "-Tascii", "-P-cbou", "-rLL=200n", page],
                          capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def check(commands, options, text, complaints):
    problems = [f"groff says: {line}" for line in complaints.splitlines()]
    sections = re.findall(r"^ +sennit (\w+): ", text, flags=re.M)
    problems += [f"there is no section about sennit {name}"
                 for name in commands if name not in sections]
    problems += [f"there is no command {name}" for name in sections if name not in commands]
    documented = set(OPTION.findall(text))
    problems += [f"{name} is missing" for name in sorted(options - documented)]
    problems += [f"--help does not know {name}" for name in sorted(documented - options)]
    if not commands:
        problems.append("--help lists no commands")
    return problems


def main(program, page):
    commands, options = helped(program)
    problems = check(commands, options, *rendered(page))
    for problem in problems:
        print(f"{page}: {problem}")
    print(f"man: {len(options)} options, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
