#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""libzmq.py ROOT ZMQ_H: every name that libzmq's header declares, drafts too, is in the
first column of a table of transport/from-libzmq.md; that column names nothing else, and
what the page says to use instead is in a public header of the transport."""

import errno
import os
import re

import tree

PAGE = "transport/from-libzmq.md"
INSTEAD = "transport/include/sennit/"

# Names of libzmq after 4.3.4, whose header is the oldest that must do.
NEWER = {"zmq_ppoll", "zmq_disconnect_peer", "BUSY_POLL", "HICCUP_MSG", "TOPICS_COUNT",
         "XSUB_VERBOSE_UNSUBSCRIBE", "NORM_*"}

DECLARED = re.compile(
    r"^ZMQ_EXPORT\b[^;(]*?\b(zmq_\w+)\s*\("
    r"|^typedef struct (zmq_\w+)"
    r"|^typedef [\w ]+\((zmq_\w+)\)"
    r"|^typedef \w+ (zmq_\w+);"
    r"|^#[ ]*define ZMQ_(\w+)"
    r"|^#[ ]*define (E[A-Z]+)\b", re.M)
LOCAL = re.compile(r"^#[ ]*undef ZMQ_(\w+)", re.M)

ROW = re.compile(r"^\| (?!libzmq \|)(.*?) \| (.*) \|$", re.M)
NAME = re.compile(r"(?<![\w*])(?:zmq_\w+|[A-Z][A-Z0-9_]*[A-Z0-9])(?:_\*)?(?![\w*])")
OURS = re.compile(r"\b(?:sennit_|SENNIT_)\w*")
ERROR = re.compile(r"^    X\((\w+), ", re.M)  # its names are made by a macro
FIELD = re.compile(r"`([a-z][a-z0-9_]*)`")


def declared(header):
    """What a program may name, constants without their ZMQ_."""
    found = set()
    for match in DECLARED.finditer(header):
        found.add(next(name for name in match.groups() if name))
    return found - set(LOCAL.findall(header))


def meant(name, names):
    """Those of `names` that a name of the page stands for: X_* for all that begin so."""
    if name.endswith("_*"):
        return {known for known in names if known.startswith(name[:-1])}
    return {name} & names


def check(root, header):
    problems, found = [], set()
    text = tree.read(root, PAGE)
    names = declared(header)
    ours = "".join(tree.read(root, name) for name in tree.files(root)
                   if name.startswith(INSTEAD))
    known = set(re.findall(r"\w+", ours))
    known |= {"SENNIT_" + name for name in ERROR.findall(ours)}
    for match in ROW.finditer(text):
        where = f"{PAGE}:{text.count(chr(10), 0, match.start()) + 1}"
        for name in NAME.findall(match.group(1)):
            covered = meant(name, names)
            if not covered and name not in NEWER | set(errno.errorcode.values()):
                problems.append(f"{where}: {name} is no name of zmq.h")
            found |= covered
        problems += [f"{where}: {name} is in no public header"
                     for name in FIELD.findall(match.group(2))
                     if name not in known and not name.startswith("sennit_")]
    for match in OURS.finditer(text):
        if match.group(0) not in known:
            where = f"{PAGE}:{text.count(chr(10), 0, match.start()) + 1}"
            problems.append(f"{where}: {match.group(0)} is in no public header")
    problems += [f"{PAGE}: {name} has no row" for name in sorted(names - found)]
    return problems, len(names)


def run(args):
    root, path = args
    if not os.path.isfile(path):
        return tree.report("names of libzmq", [
            f"{path}: zmq.h is missing; install it (Debian: apt-get install libzmq3-dev)"], 0)
    with open(path, encoding="utf-8") as file:
        header = file.read()
    problems, checked = check(root, header)
    return tree.report("names of libzmq", problems, checked)


if __name__ == "__main__":
    tree.main(run)
