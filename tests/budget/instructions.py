#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a message costs in instructions, both ends together, against a baseline.

usage: instructions.py PROGRAM BASELINE PROCESSOR COMPILER VERSION

The program is run under callgrind with two numbers of rounds for each case; the difference
is what the rounds between cost. The baseline has a section for each processor and compiler.
Of its own section a case may be WORSE % over the figure; one that is as much below is told,
to be written down, and is no failure. Where there is no such section the figures are
printed as one to be added, and only what is FOREIGN % over the nearest one fails.
"""
import configparser
import re
import shutil
import subprocess
import sys
import tempfile

ROUNDS = 40, 240
WORSE = 3
FOREIGN = 25


def die(text):
    sys.exit(f"instructions: {text}")


def count(program, case, rounds):
    with tempfile.NamedTemporaryFile() as out:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}",
             program, case, str(rounds)], capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or not found:
        die(f"{case} failed under valgrind:\n{run.stdout}{run.stderr}")
    return int(found.group(1))


def measure(program):
    cases = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    figures = {}
    for line in cases.splitlines():
        case, messages = line.split()
        few, many = (count(program, case, rounds) for rounds in ROUNDS)
        figures[case] = (many - few) / ((ROUNDS[1] - ROUNDS[0]) * int(messages))
    return figures


def major(text):
    return int(re.match(r"\d+", text).group())


def nearest(baseline, processor, compiler, version):
    """The section most like this build: processor, then compiler, then version."""
    def distance(name):
        p, c, v = name.split()
        return p != processor, c != compiler, abs(major(v) - major(version))
    return min(baseline.sections(), key=distance)


def main(program, path, processor, compiler, version):
    if shutil.which("valgrind") is None:
        die("valgrind is missing (Debian: apt-get install valgrind)")
    baseline = configparser.ConfigParser()
    baseline.read(path)
    own = f"{processor} {compiler} {major(version)}"
    known = baseline.has_section(own)
    name = own if known else nearest(baseline, processor, compiler, version)
    allowed = WORSE if known else FOREIGN
    if not known:
        print(f"NO BASELINE for {own}: compared with {name}, {FOREIGN} % allowed. "
              f"Add a section of these figures to {path}.")
    print(f"[{own}]")
    worse = []
    for case, figure in measure(program).items():
        print(f"{case} = {figure:.0f}")
        if not baseline.has_option(name, case):
            worse.append(f"{case} is in no baseline: {figure:.0f}")
            continue
        base = baseline.getfloat(name, case)
        change = 100 * (figure - base) / base
        if change > allowed:
            worse.append(f"{case}: {figure:.0f} instructions per message, "
                         f"{change:+.1f} % over {base:.0f}")
        elif known and change < -WORSE:
            print(f"BETTER: {case} by {-change:.1f} %: write {figure:.0f} into {path}")
    for case in set(baseline[name]) - {line.split()[0] for line in subprocess.run(
            [program], capture_output=True, text=True, check=True).stdout.splitlines()}:
        worse.append(f"{case} is in the baseline, and no case")
    if worse:
        die("\n".join(worse))


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
