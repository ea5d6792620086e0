#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""package.py BUILD [SANITIZE]: installs the build into a temporary prefix, builds the
consumer beside this file once by find_package and once by pkg-config, and runs both."""

import os
import subprocess
import sys
import tempfile

CONSUMER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "consumer")
CC = os.environ.get("CC", "cc")


def run(what, command, env=None):
    """Runs one step; on failure shows its output and ends the test."""
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, **(env or {})})
    if done.returncode:
        print(done.stdout + done.stderr)
        sys.exit(f"package: {what} failed ({done.returncode}): {' '.join(command)}")
    print(f"package: {what}")
    return done.stdout


def folder_of(prefix, wanted):
    """The one folder below `prefix` that holds a file called `wanted`."""
    for folder, _, names in os.walk(prefix):
        if wanted in names:
            return folder
    sys.exit(f"package: {wanted} was not installed")


def check_run(program, libraries):
    out = run(f"{os.path.basename(program)} runs", [program],
              {"LD_LIBRARY_PATH": libraries})
    if out != "heard: hello\n":
        sys.exit(f"package: {program} printed {out!r} instead of 'heard: hello'")


def main(build, sanitize=""):
    flags = [f"-fsanitize={sanitize}"] if sanitize else []
    with tempfile.TemporaryDirectory() as scratch:
        prefix = os.path.join(scratch, "prefix")
        run("installs", ["cmake", "--install", build, "--prefix", prefix])
        libraries = folder_of(prefix, "libsennit_transport.so")
        pc = folder_of(prefix, "sennit-transport.pc")

        consumer = os.path.join(scratch, "by-cmake")
        run("find_package finds it",
            ["cmake", "-G", "Ninja", "-S", CONSUMER, "-B", consumer,
             f"-DCMAKE_PREFIX_PATH={prefix}",
             f"-DCMAKE_C_FLAGS={' '.join(flags)}"])
        run("a CMake project builds on it", ["cmake", "--build", consumer])
        check_run(os.path.join(consumer, "consumer"), libraries)

        # The prefix in a .pc file is the configured one; --define-prefix moves it.
        found = run("pkg-config finds it",
                    ["pkg-config", "--define-prefix", "--cflags", "--libs",
                     "sennit-codec"],
                    {"PKG_CONFIG_PATH": pc})
        if prefix not in found:
            sys.exit(f"package: pkg-config names another prefix: {found}")
        program = os.path.join(scratch, "by-pkg-config")
        run("sennitc generates",
            [os.path.join(prefix, "bin", "sennitc"), "gen", "c",
             os.path.join(CONSUMER, "greeting.snt"), "-o", scratch])
        run("a pkg-config build works",
            [CC, *flags, os.path.join(CONSUMER, "main.c"),
             os.path.join(scratch, "greeting.snt.c"), "-I", scratch, "-o", program,
             *found.split()])
        check_run(program, libraries)


if __name__ == "__main__":
    main(*sys.argv[1:])
