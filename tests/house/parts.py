#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""parts.py ROOT: a packager's choices, configured and not built. The transport without
io_uring asks for nothing but a C compiler; what a part does need it names, with the
package; and the folder in which programs look for our libraries is the packager's to
leave out."""

import os
import re
import subprocess
import sys
import tempfile

BARE = ("-DBUILD_TESTING=OFF", "-DSENNIT_BUILD_BENCH=OFF", "-DSENNIT_BUILD_EXAMPLES=OFF",
        "-DSENNIT_WITH_URING=OFF")

# Options, and what is said: None when it is configured.
ROWS = [
    ("transport alone", ["-DSENNIT_FOLDERS=", *BARE], None),
    ("transport with io_uring", ["-DSENNIT_FOLDERS=", *BARE[:3]],
     "apt-get install pkg-config liburing-dev"),
    ("the libraries and sennitc", ["-DSENNIT_FOLDERS=rpc;codegen", *BARE], None),
    ("the cluster library without the program", ["-DSENNIT_FOLDERS=rpc;cluster", *BARE], None),
    ("everything", [*BARE], "apt-get install pkg-config libjansson-dev"),
    ("transport and its tests",
     ["-DSENNIT_FOLDERS=", "-DSENNIT_TEST_FOLDERS=transport", *BARE[1:]],
     "apt-get install pkg-config libcmocka-dev"),
    ("transport and the benchmarks", ["-DSENNIT_FOLDERS=", BARE[0], *BARE[2:]],
     "apt-get install pkg-config libzmq3-dev"),
    ("transport and the examples", ["-DSENNIT_FOLDERS=", *BARE[:2], BARE[3]],
     "leaves out sennit::rpc, on which examples would be built"),
    ("the cluster without rpc", ["-DSENNIT_FOLDERS=cluster", *BARE], "write rpc;cluster"),
    ("a folder that is not there", ["-DSENNIT_FOLDERS=rcp", *BARE], "there is no 'rcp'"),
]


def configure(root, build, options):
    """Exit code and words of cmake where pkg-config knows no package."""
    done = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", root, "-B", build, *options], check=False,
        capture_output=True, text=True,
        env={**os.environ, "PKG_CONFIG_LIBDIR": os.path.join(build, "none"),
             "PKG_CONFIG_PATH": ""})
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def problem_of(root, build, options, wanted):
    code, said = configure(root, build, options)
    if wanted is None:
        return f"is not configured: {said}" if code else None
    if code == 0:
        return f"is configured, and nothing says: {wanted}"
    return None if wanted in said else f"does not say: {wanted}\nbut: {said}"


def has_rpath(root, build, *options):
    """Whether the installed library would look for others beside itself."""
    code, said = configure(root, build, ["-DSENNIT_FOLDERS=", *BARE, *options])
    if code:
        sys.exit(f"parts: not configured with {options}: {said}")
    with open(os.path.join(build, "transport", "cmake_install.cmake"),
              encoding="utf-8") as file:
        return re.search(r'NEW_RPATH "[^"]*ORIGIN', file.read()) is not None


def main(root):
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, (name, options, wanted) in enumerate(ROWS):
            problem = problem_of(root, os.path.join(scratch, str(number)), options, wanted)
            print(f"parts: {name}: {problem or 'ok'}")
            problems += [problem] if problem else []
        if not has_rpath(root, os.path.join(scratch, "rpath")):
            problems.append("libraries do not look for each other where they are installed")
        if has_rpath(root, os.path.join(scratch, "plain"), "-DCMAKE_SKIP_INSTALL_RPATH=ON"):
            problems.append("CMAKE_SKIP_INSTALL_RPATH leaves a path in the libraries")
    for problem in problems:
        print(f"parts: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
