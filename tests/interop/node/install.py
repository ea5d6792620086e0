# SPDX-License-Identifier: MIT
"""install.py FOLDER: puts the npm package `zeromq`, as package-lock.json pins it, into
FOLDER, and makes sure that it runs. Fetches nothing when it is there already."""

import filecmp
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = ("package.json", "package-lock.json")


def fail(*lines):
    sys.exit("interop: " + "\n         ".join(lines))


def is_there(folder):
    """npm writes .package-lock.json last, when it has installed everything."""
    return (os.path.exists(os.path.join(folder, "node_modules", ".package-lock.json")) and
            all(os.path.exists(os.path.join(folder, name)) and
                filecmp.cmp(os.path.join(HERE, name), os.path.join(folder, name), False)
                for name in FILES))


def fetch(folder):
    for name in FILES:
        shutil.copyfile(os.path.join(HERE, name), os.path.join(folder, name))
    # It ships built binaries; its install script would only build them again.
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
               "--prefer-offline", "--fetch-retries=1"]
    done = subprocess.run(command, cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        fail("the npm package `zeromq` could not be fetched, and without it there is no",
             "libzmq 4.3.5 to test against. `npm ping` shows whether the registry can be",
             "reached; `npm config set registry URL` names another one. npm said:", "",
             *done.stdout.splitlines()[:8])


def check(folder):
    done = subprocess.run(["node", "-e", "console.log(require('zeromq').version)"],
                          cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode or done.stdout.strip() != "4.3.5":
        fail("the npm package `zeromq` does not run here, or is not libzmq 4.3.5:",
             *(done.stdout + done.stderr).splitlines()[-12:])


def main(folder):
    for program, package in (("node", "nodejs"), ("npm", "npm")):
        if not shutil.which(program):
            fail(f"{program} is missing, and without it nothing is tested against libzmq "
                 f"4.3.5: apt-get install {package}")
    os.makedirs(folder, exist_ok=True)
    if not is_there(folder):
        fetch(folder)
    check(folder)
    print(f"interop: libzmq 4.3.5 of the npm package `zeromq` is in {folder}")


main(sys.argv[1])
