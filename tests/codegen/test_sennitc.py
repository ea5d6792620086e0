#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_sennitc.py SENNITC: the program from outside. Every schema in diag/ must give
exactly the text beside it, exit with 1 and write nothing; every id of the table must
be in one of those texts. With --update the texts are written anew, to be read before
they are committed."""

import os
import pty
import re
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
DIAG = os.path.join(HERE, "diag")
GOOD = os.path.join(HERE, "..", "..", "idl", "examples", "pricing.snt")
SENNITC = ""


def run(*args, cwd=None, env=None, timeout=30):
    return subprocess.run([SENNITC, *args], cwd=cwd, env=env, capture_output=True,
                          timeout=timeout, check=False)


def generate(text, name="x.snt"):
    """Exit code, messages and the files written for a schema given as text."""
    with tempfile.TemporaryDirectory() as folder:
        data = text if isinstance(text, bytes) else text.encode()
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
        os.mkdir(os.path.join(folder, "out"))
        done = run("gen", "c", name, "-o", "out", cwd=folder)
        return done.returncode, done.stderr.decode(), sorted(
            os.listdir(os.path.join(folder, "out")))


def messages_of(fixture):
    with tempfile.TemporaryDirectory() as out:
        done = run("gen", "c", fixture, "-o", out, cwd=DIAG)
        return done.returncode, done.stdout, done.stderr, os.listdir(out)


def on_terminal(more_environment):
    """What a terminal is shown for a wrong schema."""
    ours, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen([SENNITC, "check", "unknown_type.snt"], cwd=DIAG, stderr=theirs,
                          env={**os.environ, "NO_COLOR": "", **more_environment}):
        os.close(theirs)
        try:
            while chunk := os.read(ours, 65536):
                shown += chunk
        except OSError:
            pass  # how Linux says that the other side of a terminal is closed
    os.close(ours)
    return shown


def fixtures():
    return sorted(name for name in os.listdir(DIAG) if name.endswith(".snt"))


def golden(fixture):
    return os.path.join(DIAG, fixture[:-len(".snt")] + ".txt")


class Diagnostics(unittest.TestCase):
    """One test per fixture is added below."""

    def test_every_id_of_the_table_has_a_fixture(self):
        table = run("explain").stdout.decode().split("\n")
        ids = {line.split()[0] for line in table if line}
        seen = set()
        for fixture in fixtures():
            with open(golden(fixture), encoding="utf-8", errors="replace") as file:
                seen |= set(re.findall(r"\[([A-Z0-9_]+)\]$", file.read(), re.M))
        # The largest file is made by a test of its own.
        self.assertEqual(ids - seen, {"FILE_TOO_LARGE"})

    def test_a_file_larger_than_allowed_is_refused_unread(self):
        code, text, files = generate("/" * (4 * 1024 * 1024 + 1))
        self.assertEqual((code, files), (1, []))
        self.assertIn("[FILE_TOO_LARGE]", text)

    def test_only_a_terminal_gets_colour_and_only_if_it_wants_it(self):
        self.assertNotIn(b"\x1b", messages_of("unknown_type.snt")[2])
        self.assertIn(b"\x1b[1;31merror:\x1b[0m", on_terminal({}))
        self.assertNotIn(b"\x1b", on_terminal({"NO_COLOR": "1"}))


def add_fixture(fixture):
    def check(self):
        code, out, err, files = messages_of(fixture)
        with open(golden(fixture), "rb") as file:
            self.assertEqual(err.decode(errors="replace"),
                             file.read().decode(errors="replace"))
        self.assertEqual((code, out, files), (1, b"", []))
    setattr(Diagnostics, "test_" + fixture[:-len(".snt")], check)


class Readme(unittest.TestCase):
    """What idl/README.md shows is true."""

    def setUp(self):
        with open(os.path.join(HERE, "..", "..", "idl", "README.md"),
                  encoding="utf-8") as file:
            self.text = file.read()
        self.blocks = re.findall(r"```snt\n(.*?)```", self.text, re.S)

    def test_its_schemas_are_good(self):
        self.assertGreaterEqual(len(self.blocks), 2)
        for block in self.blocks:
            whole = block if block.startswith("edition") else (
                "edition 1; namespace t; " + block)
            self.assertEqual(generate(whole)[:2], (0, ""))

    def test_its_error_is_what_is_shown(self):
        bad = self.blocks[0].replace("who: Person", "who: Persn")
        _, shown, _ = generate(bad, "hello.snt")
        self.assertIn("```\n" + shown + "```", self.text)

    def test_every_annotation_is_in_its_table_or_in_the_list_of_missing_ones(self):
        with open(os.path.join(HERE, "..", "..", "codegen", "README.md"),
                  encoding="utf-8") as file:
            missing = file.read()
        with open(os.path.join(HERE, "..", "..", "codegen", "annot.c"),
                  encoding="utf-8") as file:
            names = re.findall(r'^    \{ "(\w+)",\s*(?:SNI_IDL_ON|ON_)', file.read(), re.M)
        self.assertGreater(len(names), 20)
        for name in names:
            self.assertTrue(f"`@{name}" in self.text or f"@{name}" in missing, name)


class Program(unittest.TestCase):
    def test_a_good_schema_gives_two_files_and_no_word(self):
        with open(GOOD, "rb") as file:
            code, text, files = generate(file.read(), "pricing.snt")
        self.assertEqual((code, text), (0, ""))
        self.assertEqual(files, ["pricing.snt.c", "pricing.snt.h"])

    def test_the_same_schema_gives_the_same_bytes_from_anywhere(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            run("gen", "c", GOOD, "-o", one)
            run("gen", "c", os.path.basename(GOOD), "-o", two, cwd=os.path.dirname(GOOD),
                env={"LC_ALL": "C", "TZ": "Asia/Tokyo"})
            for name in ("pricing.snt.h", "pricing.snt.c"):
                with open(os.path.join(one, name), "rb") as a, \
                        open(os.path.join(two, name), "rb") as b:
                    self.assertEqual(a.read(), b.read())

    def test_a_depfile_names_both_files_and_escapes_blanks(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "my out"))
            with open(os.path.join(folder, "a.snt"), "w", encoding="utf-8") as file:
                file.write("edition 1; namespace t; struct A { }")
            done = run("gen", "c", "a.snt", "-o", "my out", "-MF", "deps", cwd=folder)
            self.assertEqual(done.returncode, 0)
            with open(os.path.join(folder, "deps"), encoding="utf-8") as file:
                self.assertEqual(file.read(),
                                 "my\\ out/a.snt.h my\\ out/a.snt.c: a.snt\n")

    def test_an_error_leaves_earlier_output_as_it_was(self):
        with tempfile.TemporaryDirectory() as folder:
            schema = os.path.join(folder, "a.snt")
            header = os.path.join(folder, "a.snt.h")
            for text, code in (("edition 1; namespace t; struct A { }", 0),
                               ("edition 1; namespace t; struct A { 1 a: b; }", 1)):
                with open(schema, "w", encoding="utf-8") as file:
                    file.write(text)
                self.assertEqual(run("gen", "c", schema, "-o", folder).returncode, code)
                with open(header, encoding="utf-8") as file:
                    self.assertIn("struct t_a", file.read())
            self.assertEqual(sorted(os.listdir(folder)),
                             ["a.snt", "a.snt.c", "a.snt.h"])

    def test_output_that_cannot_be_written_is_exit_code_two_and_nothing_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            # A folder where the second file should go: the first must not stay.
            os.mkdir(os.path.join(folder, "pricing.snt.c"))
            done = run("gen", "c", GOOD, "-o", folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"cannot write", done.stderr)
            self.assertEqual(os.listdir(folder), ["pricing.snt.c"])
        done = run("gen", "c", GOOD, "-o", "/nonexistent/folder")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"create the directory first", done.stderr)

    def test_a_file_that_cannot_be_read_is_exit_code_two(self):
        done = run("gen", "c", "/nonexistent.snt", "-o", ".")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"cannot read /nonexistent.snt", done.stderr)
        self.assertEqual(run("check", HERE).returncode, 2)

    def test_bad_usage_is_exit_code_two_and_says_what_to_write_instead(self):
        for args in ([], ["gen"], ["gen", "c"], ["gen", "c", "x.snt"],
                     ["gen", "c", "-o", "x"], ["gen", "c", "x.snt", "-o"],
                     ["gen", "c", "x.snt", "y.snt", "-o", "."],
                     ["gen", "c", "x.snt", "-o", ".", "--fast"],
                     ["gen", "rust", "x.snt"], ["gen", "py", "x.snt"], ["fmt", "x.snt"],
                     ["chekc", "x.snt"], ["check"], ["explain", "NO_SUCH_ID"],
                     ["explain", "SYNTAX", "SYNTAX"],
                     ["gen", "c", 'a"b.snt', "-o", "."]):
            with self.subTest(args=args):
                done = run(*args)
                self.assertEqual(done.returncode, 2)
                self.assertIn(b"write instead: ", done.stderr)
                self.assertEqual(done.stdout, b"")

    def test_what_is_not_built_yet_says_so(self):
        self.assertIn(b"'fmt' is not built yet", run("fmt").stderr)
        self.assertIn(b"'gen py' is not built yet", run("gen", "py").stderr)

    def test_a_command_that_is_nearly_right_is_suggested(self):
        self.assertIn(b"write instead: check", run("chekc").stderr)

    def test_help_and_version(self):
        self.assertRegex(run("--version").stdout.decode(), r"^sennitc \d+\.\d+\.\d+\n$")
        for args in (["--help"], ["-h"], ["gen", "--help"], ["check", "--help"],
                     ["explain", "--help"], ["gen", "c", "x.snt", "--help"]):
            done = run(*args)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(b"usage: sennitc", done.stdout)

    def test_check_looks_at_all_files_and_gives_the_worst_code(self):
        bad = os.path.join(DIAG, "unknown_type.snt")
        done = run("check", bad, GOOD, "/nonexistent.snt")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"[UNKNOWN_TYPE]", done.stderr)
        self.assertEqual(run("check", bad, GOOD).returncode, 1)
        self.assertEqual(run("check", GOOD).returncode, 0)

    def test_ten_thousand_fields_take_less_than_a_second(self):
        fields = "".join(f"    {i} field_{i}: {'str?' if i % 3 else '[u32]'};\n"
                         for i in range(1, 10001))
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "x.snt"), "w", encoding="utf-8") as file:
                file.write("edition 1; namespace t; struct A {\n" + fields + "}\n")
            before = time.monotonic()
            done = run("gen", "c", "x.snt", "-o", ".", cwd=folder)
            took = time.monotonic() - before
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        # A build with sanitizers may take several times as long.
        self.assertLess(took, 5.0 if os.environ.get("SENNIT_SANITIZE") else 1.0)

    def test_hostile_files_end_in_bounded_time(self):
        size = 128 * 1024 if os.environ.get("SENNIT_SANITIZE") else 1024 * 1024
        for text in ("edition 1;" + "[" * size, "(" * size, "@" * size,
                     "edition 1; struct A {" + "reserved 1..9;" * (size // 14),
                     "edition 1; enum A {" + "".join(f"a{i}={i};" for i in range(50000)) +
                     "".join(f"reserved {i};" for i in range(100000, 150000)),
                     "edition 1; struct A {" + "1 a: b;" * (size // 7),
                     "edition 1; type A = " + "{u8:" * size,
                     "///x\n" * (size // 5), '"' * size, "/*" * size, "\\" * size,
                     "edition 1; " + "struct A { 1 a: Q; } " * (size // 21)):
            with self.subTest(start=text[:40]):
                before = time.monotonic()
                code, _, files = generate(text)
                self.assertEqual((code, files), (1, []))
                self.assertLess(time.monotonic() - before, 20)


def update():
    for fixture in fixtures():
        with open(golden(fixture), "wb") as file:
            file.write(messages_of(fixture)[2])


if __name__ == "__main__":
    SENNITC = os.path.abspath(sys.argv[1])
    if "--update" in sys.argv:
        update()
    else:
        for each in fixtures():
            add_fixture(each)
        unittest.main(argv=sys.argv[:1] + sys.argv[2:])
