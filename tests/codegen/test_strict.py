#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_strict.py SENNITC INCLUDE...: what sennitc writes compiles without a word under
strict warnings, as C99, C11, GNU C and C++17, with every compiler found here; each
header stands alone and may be included twice; nothing but names with the schema's
prefix is defined."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef",
            "-Wcast-qual", "-Wwrite-strings", "-Wfloat-conversion", "-Werror"]
C_WARNINGS = ["-Wstrict-prototypes", "-Wmissing-prototypes"]
C_STANDARDS = ["c99", "c11", "gnu11"]
CXX_STANDARDS = ["c++17"]


def schemas():
    good = os.path.join(HERE, "good")
    examples = os.path.join(ROOT, "idl", "examples")
    found = [os.path.join(folder, name) for folder in (good, examples)
             for name in sorted(os.listdir(folder)) if name.endswith(".snt")]
    found += [os.path.join(ROOT, "examples", "hello", "greeter.snt"),
              os.path.join(ROOT, "examples", "pkglog", "pkglog.snt")]
    return [path for path in found if os.path.exists(path)]


def compilers():
    """(program, language) of each compiler there is. One of each language must be."""
    wanted = [(os.environ.get("CC", "cc"), "c"), (os.environ.get("CXX", "c++"), "c++"),
              ("gcc", "c"), ("clang", "c"), ("g++", "c++"), ("clang++", "c++")]
    found = {}
    for program, language in wanted:
        path = shutil.which(program)
        if path:
            found[(os.path.realpath(path), language)] = (path, language)
    return list(found.values())


class Strict(unittest.TestCase):
    sennitc = ""
    includes = []

    def setUp(self):
        # pylint: disable=consider-using-with
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def generate(self, schema):
        done = subprocess.run([self.sennitc, "gen", "c", schema, "-o", self.folder.name],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return os.path.join(self.folder.name, os.path.basename(schema))

    def run_compiler(self, program, language, standard, text, output=None):
        command = [program, "-x", language, f"-std={standard}", *WARNINGS,
                   *(C_WARNINGS if language == "c" else []), "-I", self.folder.name]
        for folder in self.includes:
            command += ["-I", folder]
        command += ["-c", "-o", output, "-"] if output else ["-fsyntax-only", "-"]
        return subprocess.run(command, input=text + "\n", capture_output=True, text=True,
                              check=False)

    def compile(self, program, language, standard, text, output=None):
        done = self.run_compiler(program, language, standard, text, output)
        self.assertEqual((done.returncode, done.stderr), (0, ""),
                         f"{program} -std={standard}")

    def warn(self, warning, text):
        """The text is good, but for this one warning, which may need more than syntax."""
        done = self.run_compiler(os.environ.get("CC", "cc"), "c", "c11", text,
                                 os.path.join(self.folder.name, "warned.o"))
        found = re.findall(r"-W(?:error=)?([a-z-]+)\]", done.stderr)
        self.assertEqual(found, [warning], done.stderr)

    def check(self, schema):
        base = self.generate(schema)
        name = os.path.basename(base)
        with open(base + ".c", encoding="utf-8") as file:
            source = f'#include "{name}.h"\n#include "{name}.h"\n' + file.read()
        for program, language in compilers():
            for standard in C_STANDARDS if language == "c" else CXX_STANDARDS:
                with self.subTest(program=program, standard=standard):
                    self.compile(program, language, standard, source)

    def test_there_is_a_compiler_for_each_language(self):
        self.assertEqual({language for _, language in compilers()}, {"c", "c++"})

    def test_all_defined_names_have_the_prefix(self):
        for schema, prefix in (("kinds", "k"), ("names", "test_names_2_http_server"),
                               ("evolve_old", "old")):
            base = self.generate(os.path.join(HERE, "good", schema + ".snt"))
            with open(base + ".c", encoding="utf-8") as file:
                source = file.read()
            compiler = os.environ.get("CC", "cc")
            self.compile(compiler, "c", "c11", source, base + ".o")
            out = subprocess.run(["nm", "--defined-only", "--extern-only", base + ".o"],
                                 capture_output=True, text=True, check=True).stdout
            names = [line.split()[-1] for line in out.splitlines()]
            self.assertTrue(names)
            self.assertEqual([n for n in names if not n.startswith(prefix + "_")], [])
            with open(base + ".h", encoding="utf-8") as file:
                macros = re.findall(r"^#define (\w+)", file.read(), re.M)
            self.assertEqual([m for m in macros
                              if not m.startswith(prefix.upper() + "_")], [])

    def test_a_table_of_methods_is_made_without_a_word(self):
        base = self.generate(os.path.join(ROOT, "idl", "examples", "pricing.snt"))
        by_name, in_order = ".count = count", "NULL, NULL, count, NULL, NULL"
        for program, language in compilers():
            standard, ways = {"c": ("c99", [by_name, in_order]),
                              "c++": ("c++17", [in_order])}[language]
            for methods in ways:
                with self.subTest(program=program, methods=methods):
                    self.compile(program, language, standard, f"""
                        #include "{os.path.basename(base)}.h"
                        static void count(sennit_ctx *ctx, pr_pricing_count_reply reply,
                                          void *self)
                        {{
                            (void)ctx, (void)reply, (void)self;
                        }}
                        static const pr_pricing_vtable table =
                            PR_PRICING_VTABLE_INIT({methods});
                        const pr_pricing_vtable *use(void);
                        const pr_pricing_vtable *use(void) {{ return &table; }}
                    """)

    def test_a_reply_whose_outcome_is_ignored_is_a_warning(self):
        base = self.generate(os.path.join(ROOT, "idl", "examples", "pricing.snt"))
        for answer in ("ok(reply, &quote)", "err_no_such_symbol(reply, &detail)"):
            with self.subTest(answer=answer):
                self.warn("unused-result", f"""
                    #include "{os.path.basename(base)}.h"
                    void answer(pr_pricing_get_reply reply);
                    void answer(pr_pricing_get_reply reply)
                    {{
                        pr_quote quote = PR_QUOTE_INIT;
                        pr_no_such_symbol detail = PR_NO_SUCH_SYMBOL_INIT;
                        (void)quote, (void)detail;
                        pr_pricing_get_{answer};
                    }}
                """)

    def test_a_caller_in_cxx_links(self):
        base = self.generate(os.path.join(ROOT, "idl", "examples", "pricing.snt"))
        with open(base + ".c", encoding="utf-8") as file:
            self.compile(os.environ.get("CC", "cc"), "c", "c11", file.read(), base + ".o")
        caller = """
            #include "pricing.snt.h"
            int caller(pr_pricing_client *client, sennit_bus *bus, sennit_buf *out);
            int caller(pr_pricing_client *client, sennit_bus *bus, sennit_buf *out)
            {
                pr_quote quote = PR_QUOTE_INIT;
                quote.side = PR_SIDE_BUY;
                pr_pricing_client_init(client, bus);
                if (!pr_side_name(quote.side) || pr_quote_codec.size != sizeof quote)
                    return 1;
                return pr_quote_encode(&quote, out);
            }
        """
        self.compile(os.environ.get("CXX", "c++"), "c++", "c++17", caller,
                     base + ".cxx.o")
        both = base + ".both.o"
        subprocess.run(["ld", "-r", base + ".o", base + ".cxx.o", "-o", both], check=True)
        out = subprocess.run(["nm", "--undefined-only", both], capture_output=True,
                             text=True, check=True).stdout
        self.assertIn("sennit_codec_encode", out)
        self.assertEqual([line for line in out.split() if "pr_" in line], [])

    def test_a_struct_of_ten_fields_stays_small(self):
        fields = "".join(f"{i} field_{i}: {t}; " for i, t in enumerate(
            ["str", "u32", "i64", "f64", "[u8]", "bytes?", "time", "str?", "bool",
             "[str]"], 1))
        schema = os.path.join(self.folder.name, "ten.snt")
        with open(schema, "w", encoding="utf-8") as file:
            file.write("edition 1; namespace ten; struct Ten { " + fields + "}")
        base = self.generate(schema)
        command = [os.environ.get("CC", "cc"), "-std=c11", "-Os", "-c", base + ".c", "-o",
                   base + ".o", "-I", self.folder.name]
        for folder in self.includes:
            command += ["-I", folder]
        subprocess.run(command, check=True)
        out = subprocess.run(["size", base + ".o"], capture_output=True, text=True,
                             check=True).stdout.splitlines()[1].split()
        # text + data + bss: the bound that codegen/README.md states.
        self.assertLess(sum(int(n) for n in out[:3]), 1536)


def add_schema(path):
    name = os.path.basename(path)[:-len(".snt")]
    setattr(Strict, f"test_{name}_compiles_without_a_word", lambda self: self.check(path))


if __name__ == "__main__":
    Strict.sennitc = os.path.abspath(sys.argv[1])
    Strict.includes = sys.argv[2:]
    for each in schemas():
        add_schema(each)
    unittest.main(argv=sys.argv[:1])
