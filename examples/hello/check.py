#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""check.py WHAT BIN: runs one of the small programs of this folder as the README shows
it, and compares what it prints."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE_S = 30


def expect(what, wanted, got):
    if got != wanted:
        sys.exit(f"{what} printed {got!r} instead of {wanted!r}")
    print(f"{what}: as expected")


def output_of(command, **how):
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S,
                          check=False, **how)
    if done.returncode:
        sys.exit(f"{command} failed ({done.returncode}): {done.stderr}{done.stdout}")
    return done.stdout


def check_socket(bin_folder):
    server = subprocess.Popen([os.path.join(bin_folder, "hello_socket")],
                              stdout=subprocess.PIPE, text=True)
    try:
        endpoint = server.stdout.readline().strip()
        expect("ask.py", "world\n",
               output_of(["/usr/bin/python3", os.path.join(HERE, "ask.py"), endpoint]))
        rest, _ = server.communicate(timeout=DEADLINE_S)
        expect("hello_socket", ("asked: hello\n", 0), (rest, server.returncode))
    finally:
        server.kill()
        server.wait()


def check_shards(bin_folder):
    server = subprocess.Popen([os.path.join(bin_folder, "hello_shards")],
                              stdout=subprocess.PIPE, text=True)
    try:
        endpoint = server.stdout.readline().strip()
        for _ in range(8):
            expect("shards, asked by ask.py", "hello\n",
                   output_of(["/usr/bin/python3", os.path.join(HERE, "ask.py"), endpoint]))
        server.terminate()
        rest, _ = server.communicate(timeout=DEADLINE_S)
        expect("hello_shards", ("", 0), (rest, server.returncode))
    finally:
        server.kill()
        server.wait()


def check_threads(bin_folder):
    expect("hello_threads", "sum of 1000 squares: 333833500\n",
           output_of([os.path.join(bin_folder, "hello_threads")]))


def check_bus(bin_folder):
    expect("hello_bus", "order.created: 2 ropes\nprice: 12.50\n",
           output_of([os.path.join(bin_folder, "hello_bus")]))


def check_rpc(bin_folder):
    expect("hello_rpc", "Hello, Ada!\nnobody: who should that be?\n",
           output_of([os.path.join(bin_folder, "hello_rpc")]))


def check_cat(bin_folder):
    with tempfile.TemporaryDirectory() as folder:
        path = bin_folder + ":" + os.environ["PATH"]
        # Once from the one that answers, once from the one that asked.
        expect("cat.sh", "hello\nhello\n",
               output_of(["sh", os.path.join(HERE, "cat.sh")], cwd=folder,
                         env={**os.environ, "PATH": path}))


if __name__ == "__main__":
    checks = {"socket": check_socket, "threads": check_threads, "shards": check_shards, "bus": check_bus,
              "rpc": check_rpc, "cat": check_cat}
    checks[sys.argv[1]](os.path.abspath(sys.argv[2]))
