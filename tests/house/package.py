#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""package.py BUILD VERSION [SANITIZE]: installs the build into a temporary prefix, moves
that elsewhere, looks at what a packager expects there, and builds the consumer beside
this file, once by find_package and once by pkg-config, and runs both."""

import os
import re
import subprocess
import sys
import tempfile

CONSUMER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "consumer")
CC = os.environ.get("CC", "cc")

# What is installed beside programs, libraries and headers.
PAGES = ("LICENSE", "README.md", "CHANGELOG.md", "from-libzmq.md", "sennit.1")


def fail(text):
    sys.exit(f"package: {text}")


def start(command, env=None):
    """Runs `command` without help for the linker but what `env` says."""
    clean = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**clean, **(env or {})})


def run(what, command, env=None):
    """Runs one step; on failure shows its output and ends the test."""
    done = start(command, env)
    if done.returncode:
        print(done.stdout + done.stderr)
        fail(f"{what} failed ({done.returncode}): {' '.join(command)}")
    print(f"package: {what}")
    return done.stdout


def folder_of(prefix, wanted):
    """The one folder below `prefix` that holds a file called `wanted`."""
    for folder, _, names in os.walk(prefix):
        if wanted in names:
            return folder
    return fail(f"{wanted} was not installed")


def check_run(program, env=None):
    out = run(f"{os.path.basename(program)} runs", [program], env)
    if out != "heard: hello\n":
        fail(f"{program} printed {out!r} instead of 'heard: hello'")


def check_soname(library, version):
    """Until 1.0 every minor version is another library to the linker."""
    major, minor = version.split(".")[:2]
    abi = f"{major}.{minor}" if major == "0" else major
    wanted = f"{os.path.basename(library)}.{abi}"
    dynamic = run("readelf reads it", ["readelf", "-d", library])
    found = re.search(r"\(SONAME\).*\[(.*)\]", dynamic)
    if not found or found.group(1) != wanted:
        fail(f"{library} is {found and found.group(1)} to the linker, not {wanted}")


def configure(prefix, build, *options):
    return ["cmake", "-G", "Ninja", "-S", CONSUMER, "-B", build,
            f"-DCMAKE_PREFIX_PATH={prefix}", *options]


def check_component(prefix, build):
    """A component that is not there is an error that names those that are."""
    done = start(configure(prefix, build, "-DCOMPONENTS=nosuch"))
    said = " ".join(done.stderr.split())
    if done.returncode == 0 or not re.search(r"no component 'nosuch'; it has .*rpc", said):
        print(done.stdout + done.stderr)
        fail("find_package does not refuse the component nosuch by name")


def by_cmake(scratch, prefix, flags):
    build = os.path.join(scratch, "by-cmake")
    check_component(prefix, os.path.join(scratch, "nosuch"))
    run("find_package finds it",
        configure(prefix, build, "-DCOMPONENTS=transport;rpc;codec;cluster;sennitc",
                  f"-DCMAKE_C_FLAGS={' '.join(flags)}"))
    run("a CMake project builds on it", ["cmake", "--build", build])
    check_run(os.path.join(build, "consumer"))


def by_pkg_config(scratch, prefix, flags):
    found = run("pkg-config finds it", ["pkg-config", "--cflags", "--libs", "sennit-codec"],
                {"PKG_CONFIG_PATH": folder_of(prefix, "sennit-codec.pc")})
    folders = re.findall(r"-[IL](\S+)", found)
    for folder in folders:
        if not os.path.realpath(folder).startswith(os.path.realpath(prefix) + os.sep):
            fail(f"pkg-config names another prefix: {found}")
    if not folders:
        fail(f"pkg-config names no folder: {found}")
    program = os.path.join(scratch, "by-pkg-config")
    run("sennitc generates",
        [os.path.join(prefix, "bin", "sennitc"), "gen", "c",
         os.path.join(CONSUMER, "greeting.snt"), "-o", scratch])
    run("a pkg-config build works",
        [CC, *flags, os.path.join(CONSUMER, "main.c"),
         os.path.join(scratch, "greeting.snt.c"), "-I", scratch, "-o", program,
         *found.split()])
    check_run(program,
              {"LD_LIBRARY_PATH": folder_of(prefix, "libsennit_transport.so")})


def main(build, version, sanitize=""):
    flags = [f"-fsanitize={sanitize}"] if sanitize else []
    with tempfile.TemporaryDirectory() as scratch:
        first, prefix = os.path.join(scratch, "first"), os.path.join(scratch, "moved")
        run("installs", ["cmake", "--install", build, "--prefix", first])
        os.rename(first, prefix)
        for page in PAGES:
            folder_of(prefix, page)
        for name in ("transport", "rpc", "codec", "cluster"):
            library = f"libsennit_{name}.so"
            check_soname(os.path.join(folder_of(prefix, library), library), version)
        for program in ("sennit", "sennitc"):
            said = run(f"{program} starts", [os.path.join(prefix, "bin", program),
                                             "--version"])
            if said != f"{program} {version}\n":
                fail(f"{program} --version says {said!r}")
        by_cmake(scratch, prefix, flags)
        by_pkg_config(scratch, prefix, flags)


if __name__ == "__main__":
    main(*sys.argv[1:])
