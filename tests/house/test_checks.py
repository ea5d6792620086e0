#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The house checks against small trees with one fault each: a check that finds
nothing must be known to be able to find something."""

import os
import subprocess
import tempfile
import unittest

import cases
import format as layout
import headers
import layering
import layers
import man
import libzmq
import purity
import readme
import symbols
import text

CC = os.environ.get("CC", "cc")
CXX = os.environ.get("CXX", "c++")


class Tree(unittest.TestCase):
    """A temporary tree given as {path: text}."""

    def make(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, content in files.items():
            path = os.path.join(folder.name, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        return folder.name

    def assert_one(self, problems, *words):
        self.assertEqual(len(problems), 1, problems)
        for word in words:
            self.assertIn(word, problems[0])


class Layering(Tree):
    CLEAN = {
        "transport/include/sennit/sennit.h": "#include <stddef.h>\n",
        "transport/base/bytes.h": "#include <sennit/sennit.h>\n",
        "transport/wire/frame.h": '#include "base/bytes.h"\n',
        "transport/wire/frame.c": '#include "wire/frame.h"\n#include <string.h>\n',
        "rpc/bus.c": '#include <sennit/sennit.h>\n#include "base/bytes.h"\n',
    }

    def find(self, changes):
        problems, _ = layering.check(self.make({**self.CLEAN, **changes}))
        return problems

    def test_a_tree_whose_arrows_point_down_has_no_findings(self):
        self.assertEqual(self.find({}), [])

    def test_an_upward_include_is_found_with_file_and_line(self):
        self.assert_one(
            self.find({"transport/base/bytes.h": '\n#include "wire/frame.h"\n'}),
            "transport/base/bytes.h:2", "layer wire", "layer base")

    def test_engine_and_io_may_not_know_each_other(self):
        self.assert_one(
            self.find({"transport/io/io.h": "", "transport/engine/engine.h":
                       '#include "io/io.h"\n'}), "layer io", "layer engine")

    def test_rpc_may_not_look_into_the_transport(self):
        self.assert_one(self.find({"rpc/bus.c": '#include "wire/frame.h"\n'}),
                        "rpc/bus.c:1", "layer wire")

    def test_a_pure_layer_may_not_include_the_system(self):
        self.assert_one(
            self.find({"transport/base/bytes.h": "#include <sys/socket.h>\n"}),
            "<sys/socket.h>", "os")

    def test_an_include_in_a_comment_is_not_an_include(self):
        self.assertEqual(
            self.find({"transport/base/bytes.h": '/*\n#include "wire/frame.h"\n*/\n'}), [])

    def test_an_include_that_climbs_is_found(self):
        self.assert_one(self.find({"transport/wire/frame.h": '#include "../base/bytes.h"\n'}),
                        "climbs")

    def test_a_header_from_nowhere_is_found(self):
        self.assert_one(self.find({"transport/base/bytes.h": '#include "elsewhere.h"\n'}),
                        '"elsewhere.h" is not in the repository')

    def test_an_unlisted_library_is_found(self):
        self.assert_one(self.find({"rpc/bus.c": "#include <boost.h>\n"}), "<boost.h>")

    def test_a_source_that_does_not_begin_with_its_own_header_is_found(self):
        self.assert_one(
            self.find({"transport/wire/frame.c":
                       '#include <string.h>\n#include "wire/frame.h"\n'}),
            "transport/wire/frame.c:1", "own header first")

    def test_a_source_that_never_includes_its_own_header_is_found(self):
        self.assert_one(self.find({"transport/wire/frame.c": "int x;\n"}),
                        "own header first")

    def test_a_file_outside_every_layer_is_found(self):
        self.assert_one(self.find({"extra/x.c": ""}), "extra/x.c", "no layer")

    def test_an_empty_tree_does_not_pass_for_a_clean_one(self):
        self.assertEqual(layering.run([self.make({})]), 1)


class Purity(Tree):
    CLEAN = {
        "base": "#include <string.h>\nint sni_len(const char *s) { return (int)strlen(s); }",
        "wire": "int sni_len(const char *); int sni_w(void) { return sni_len(\"x\"); }",
        "engine": "int sni_w(void); int sni_e(void) { return sni_w(); }",
        "pattern": "int sni_len(const char *); int sni_p(void) { return sni_len(\"\"); }",
    }

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.clean = {name: cls.compiled("clean-" + name, text)
                     for name, text in cls.CLEAN.items()}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def compiled(cls, name, source):
        obj = os.path.join(cls.folder.name, name + ".o")
        subprocess.run([CC, "-x", "c", "-c", "-O0", "-", "-o", obj], input=source, text=True,
                       check=True)
        return obj

    def find(self, changes):
        objects = {name: [self.compiled(name, changes[name]) if name in changes else obj]
                   for name, obj in self.clean.items()}
        problems, _ = purity.check(objects, layers.load())
        return problems

    def test_layers_that_call_only_downwards_have_no_findings(self):
        self.assertEqual(self.find({}), [])

    def test_a_clock_in_the_engine_is_found(self):
        self.assert_one(
            self.find({"engine": "#include <time.h>\nlong sni_e(void)"
                                 " { return (long)time(0); }"}),
            "layer engine", "calls time")

    def test_a_socket_behind_an_extern_declaration_is_found(self):
        self.assert_one(
            self.find({"wire": "int socket(int, int, int);"
                               " int sni_w(void) { return socket(1, 2, 3); }"}),
            "layer wire", "calls socket")

    def test_errno_is_found(self):
        self.assert_one(
            self.find({"pattern": "#include <errno.h>\nint sni_p(void) { return errno; }"}),
            "looks at errno")

    def test_a_call_upwards_without_an_include_is_found(self):
        self.assert_one(
            self.find({"pattern": "int sni_e(void); int sni_p(void) { return sni_e(); }"}),
            "layer pattern", "calls sni_e")

    def test_an_object_belongs_to_the_layer_of_its_source(self):
        obj = "b/transport/CMakeFiles/sennit_transport_objects.dir/./wire/frame.c.o"
        layer = purity.layer_of_object(layers.load(), "transport", obj)
        self.assertEqual(layer.name, "wire")

    def test_a_pure_layer_that_was_not_built_is_found(self):
        problems, _ = purity.check({"base": [self.clean["base"]]}, layers.load())
        self.assertTrue(any("engine" in problem for problem in problems), problems)


class Symbols(Tree):
    HEADER = """
#define SENNIT_API __attribute__((visibility("default")))
/* SENNIT_API int sennit_commented(void); */
SENNIT_API int sennit_a(int x) __attribute__((pure));
SENNIT_API const char *
sennit_b(void (*fn)(void *arg), void *arg);
"""
    BODY = """#include "h.h"
int sennit_a(int x) { return x; }
const char *sennit_b(void (*fn)(void *arg), void *arg) { fn(arg); return ""; }
"""

    def find(self, header, body):
        root = self.make({"h.h": header, "l.c": body})
        library = os.path.join(root, "l.so")
        subprocess.run([CC, "-shared", "-fPIC", "-fvisibility=hidden",
                        os.path.join(root, "l.c"), "-o", library], check=True)
        return symbols.check(library, [os.path.join(root, "h.h")])[0]

    def test_a_library_that_exports_what_it_declares_has_no_findings(self):
        self.assertEqual(self.find(self.HEADER, self.BODY), [])

    def test_an_export_that_no_header_declares_is_found(self):
        leak = '__attribute__((visibility("default"))) int sni_leak(void) { return 0; }\n'
        self.assert_one(self.find(self.HEADER, self.BODY + leak), "exports sni_leak")

    def test_a_declaration_without_an_export_is_found(self):
        self.assert_one(
            self.find(self.HEADER + "SENNIT_API void sennit_c(void);\n", self.BODY),
            "sennit_c is declared SENNIT_API but not exported")


class Headers(Tree):
    def find(self, header):
        return headers.check(self.make({"x/include/sennit/h.h": header}), CC, CXX)[0]

    def test_a_header_that_stands_alone_has_no_findings(self):
        self.assertEqual(self.find("#include <stddef.h>\nsize_t sennit_x(void);\n"), [])

    def test_a_header_that_leans_on_another_is_found_in_every_language(self):
        self.assertEqual(len(self.find("size_t sennit_x(void);\n")), 3)

    def test_a_header_that_is_only_c_is_found(self):
        problems = self.find("int sennit_x(int class);\n")
        self.assertEqual(len(problems), 2)
        self.assert_one(problems[:1], "c++17")
        self.assert_one(problems[1:], "c++20")

    OPTS = "typedef struct sennit_opts {\n    int a;\n    int b;\n} sennit_opts;\n"

    def test_a_default_that_every_language_takes_has_no_findings(self):
        self.assertEqual(
            self.find(self.OPTS + "#define SENNIT_OPTS_DEFAULT { 1, 2 }\n"), [])

    def test_a_default_that_is_only_c_is_found(self):
        problems = self.find(self.OPTS + "#define SENNIT_OPTS_DEFAULT { .a = 1 }\n")
        self.assertEqual(len(problems), 2)
        self.assert_one(problems[:1], "c++17")
        self.assert_one(problems[1:], "c++20", "b")


class Format(Tree):
    STYLE = {".clang-format": "BasedOnStyle: LLVM\n"}

    def test_a_formatted_file_has_no_findings(self):
        self.assertEqual(layout.check(self.make({**self.STYLE, "a.c": "int x;\n"}))[0], [])

    def test_a_file_out_of_shape_is_found(self):
        self.assert_one(layout.check(self.make({**self.STYLE, "a.c": "int   x ;\n"}))[0],
                        "clang-format-14 -i a.c")


class Text(unittest.TestCase):
    def test_a_path_of_one_machine_is_found(self):
        self.assertEqual(len(text.check_file("a.md", "see /ro" + "ot/x\n/ho" + "me/y\n")), 2)

    def test_an_open_end_needs_an_issue_number(self):
        self.assertEqual(text.check_file("a.md", "TO" + "DO(#12): widen\n"), [])
        self.assertEqual(len(text.check_file("a.md", "TO" + "DO: widen\n")), 1)

    def test_a_source_without_a_licence_is_found(self):
        self.assertEqual(len(text.check_file("transport/a.c", "int x;\n")), 1)

    def test_a_stray_file_at_the_top_is_found(self):
        names = sorted(text.TOP - {"transport"}) + ["transport/README.md", "notes.txt"]
        self.assertTrue(any("notes.txt" in p for p in text.check_top(names)))

    def test_a_folder_without_a_readme_is_found(self):
        self.assertTrue(any(p.startswith("rpc/README.md")
                            for p in text.check_top(["rpc/bus.c"])))


class Man(unittest.TestCase):
    PAGE = "   sennit cat: it\n   --help  --send TEXT\n"

    def find(self, commands=("cat",), options=("--help", "--send"), page=PAGE, said=""):
        return man.check(list(commands), set(options), page, said)

    def assert_one(self, problems, word):
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(word, problems[0])

    def test_a_page_that_says_what_help_says_has_no_findings(self):
        self.assertEqual(self.find(), [])

    def test_an_option_that_is_not_in_the_page_is_found(self):
        self.assert_one(self.find(options=("--help", "--send", "--sen")), "--sen is missing")

    def test_an_option_that_is_only_in_the_page_is_found(self):
        self.assert_one(self.find(page=self.PAGE + "--recv"), "does not know --recv")

    def test_a_command_without_a_section_is_found(self):
        self.assert_one(self.find(commands=("cat", "call")), "sennit call")

    def test_a_section_without_a_command_is_found(self):
        self.assert_one(self.find(page=self.PAGE + "  sennit dog: it\n"), "dog")

    def test_a_warning_of_groff_is_found(self):
        self.assert_one(self.find(said="page:1: warning"), "page:1: warning")

    def test_a_program_that_lists_no_command_is_found(self):
        self.assert_one(self.find(commands=(), page="--help --send"), "no commands")


class Readme(Tree):
    def find(self, page):
        root = self.make({"a.c": "/* SPDX-License-Identifier: MIT */\nint a;\n"})
        return readme.check_page(root, "README.md", page)[0]

    def test_a_block_that_is_its_file_has_no_findings(self):
        self.assertEqual(self.find("<!-- file: a.c -->\n```c\nint a;\n```\n"), [])

    def test_a_block_that_differs_is_found(self):
        self.assert_one(self.find("<!-- file: a.c -->\n```c\nint b;\n```\n"), "differs")

    def test_a_program_without_a_file_is_found(self):
        self.assert_one(self.find("text\n```c\nint b;\n```\n"), "without")

    def test_a_file_that_is_gone_is_found(self):
        self.assert_one(self.find("<!-- file: b.c -->\n```c\nint b;\n```\n"), "b.c")


class Cases(Tree):
    SUITE = """static void
it_holds(void **state)
{
}

static void
it_is_not_run(void **state)
{
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_holds),
    { "a row whose name "
      "goes on", check },
};
"""
    SCRIPT = "def meets(bench):\n    pass\n\nCASES = [meets]\n\ndef idle():\n    pass\n"

    def find(self, *rows, wanted=("D01",)):
        page = "| id | rule | shown by |\n|---|---|---|\n" + "".join(
            row + "\n" for row in rows)
        root = self.make({cases.PAGE: page, "tests/cases/a_test.c": self.SUITE,
                          "tests/interop/b.py": self.SCRIPT})
        return cases.check(root, list(wanted))[0]

    def test_rows_of_tests_and_reasons_have_no_findings(self):
        self.assertEqual(self.find(
            "| D01 | it holds | a: cases/a `it_holds`, `a row whose name goes on`; "
            "interop/b `meets` |",
            "| R01 | it cannot | Reason: there is no such thing here |",
            wanted=("D01", "R01")), [])

    def test_a_case_without_a_row_is_found(self):
        self.assert_one(self.find("| D01 | it holds | cases/a `it_holds` |",
                                  wanted=("D01", "D02")), "D02 has no row")

    def test_a_second_row_is_found(self):
        row = "| D01 | it holds | cases/a `it_holds` |"
        self.assert_one(self.find(row, row), "D01: has a row already")

    def test_a_case_nobody_knows_is_found(self):
        row = "| {} | it holds | cases/a `it_holds` |"
        self.assert_one(self.find(row.format("D01"), row.format("D99")), "D99: is no case")

    def test_a_row_without_a_rule_is_found(self):
        self.assert_one(self.find("| D01 |  | cases/a `it_holds` |"), "says no rule")

    def test_a_test_that_is_not_there_is_found(self):
        self.assert_one(self.find("| D01 | it holds | cases/a `it_hold` |"),
                        "cases/a runs no test `it_hold`")

    def test_a_test_that_is_not_run_is_found(self):
        self.assert_one(self.find("| D01 | it holds | cases/a `it_is_not_run` |"),
                        "it_is_not_run")
        self.assert_one(self.find("| D01 | it holds | interop/b `idle` |"), "idle")

    def test_a_suite_that_is_not_there_is_found(self):
        self.assert_one(self.find("| D01 | it holds | cases/c `it_holds` |"),
                        "no suite cases/c")

    def test_a_test_of_no_suite_is_found(self):
        self.assert_one(self.find("| D01 | it holds | `it_holds` |"), "of no suite")

    def test_a_row_with_neither_test_nor_reason_is_found(self):
        self.assert_one(self.find("| D01 | it holds | all is well |"), "neither names a test")
        self.assert_one(self.find("| D01 | it holds | Reason: |"), "neither names a test")

    def test_a_test_named_after_a_case_that_its_row_leaves_out_is_found(self):
        suite = self.SUITE.replace("it_is_not_run", "d01b_too").replace("it_holds", "D01_a")
        page = "| D01 | it holds | cases/a `D01_a` |\n"
        root = self.make({cases.PAGE: page, "tests/cases/a_test.c": suite})
        self.assert_one(cases.check(root, ["D01"])[0], "`d01b_too`", "row of D01")

    def test_an_empty_page_does_not_pass_for_a_full_one(self):
        self.assertGreater(len(cases.WANTED), 100)
        self.assertEqual(len(cases.check(self.make({cases.PAGE: ""}))[0]), len(cases.WANTED))


class Libzmq(Tree):
    HEADER = """#define ZMQ_VERSION_MAJOR 4
#ifndef ENOTSOCK
#define ENOTSOCK (ZMQ_HAUSNUMERO + 9)
#endif
#define ZMQ_EXPORT
typedef struct zmq_msg_t
{
    unsigned char _[64];
} zmq_msg_t;
typedef void(zmq_free_fn) (void *data_, void *hint_);
ZMQ_EXPORT int
zmq_setsockopt (void *s_, int option_, const void *optval_, size_t optvallen_);
#define ZMQ_WSS_KEY 1
#define ZMQ_WSS_CERT 2
#ifdef ZMQ_BUILD_DRAFT_API
ZMQ_EXPORT uint32_t zmq_join (void *s, const char *group);
#endif
#undef ZMQ_EXPORT
"""
    ROWS = ("| VERSION_MAJOR | `sennit_version` |", "| ENOTSOCK | `SENNIT_EINVAL` |",
            "| `zmq_msg_t`; `zmq_free_fn` | not here |",
            "| `zmq_setsockopt`, `zmq_join` | `linger_ms` of `sennit_opts` |",
            "| WSS_* | not built |")
    OURS = """#define SENNIT_ERR_TABLE(X) \\
    X(OK, 0, "success")     \\
    X(EINVAL, 2, "invalid argument")
const char *sennit_version(void);
struct sennit_opts { int linger_ms; };
"""

    def find(self, *rows, header=HEADER):
        page = "| libzmq | here |\n|---|---|\n" + "".join(row + "\n" for row in rows)
        root = self.make({libzmq.PAGE: page, libzmq.INSTEAD + "sennit.h": self.OURS})
        return libzmq.check(root, header)[0]

    def but(self, old, new):
        """The rows with one changed."""
        return [row.replace(old, new) for row in self.ROWS]

    def test_a_page_with_every_name_has_no_findings(self):
        self.assertEqual(self.find(*self.ROWS), [])

    def test_a_name_without_a_row_is_found(self):
        for name in ("VERSION_MAJOR", "ENOTSOCK", "`zmq_msg_t`", "`zmq_free_fn`",
                     "`zmq_setsockopt`", "`zmq_join`"):
            self.assert_one(self.find(*self.but(name, "")), name.strip("`"), "has no row")

    def test_a_name_that_is_only_in_the_second_column_is_found(self):
        header = self.HEADER + "#define ZMQ_RATE 8\n"
        self.assert_one(self.find(*self.ROWS, "| WSS_KEY | as RATE |", header=header),
                        "RATE has no row")

    def test_a_star_stands_for_those_that_begin_so_and_no_others(self):
        self.assertEqual(len(self.find(*self.but("WSS_*", ""))), 2)
        self.assert_one(self.find(*self.but("WSS_*", "WSS_K_*, WSS_KEY, WSS_CERT")), "WSS_K_*")

    def test_a_name_that_the_header_does_not_know_is_found(self):
        self.assert_one(self.find(*self.ROWS, "| RCVHVM | none |"), "RCVHVM is no name")
        self.assert_one(self.find(*self.ROWS, "| `zmq_sock` | none |"), "zmq_sock is no name")

    def test_an_error_of_the_system_may_have_a_row(self):
        self.assertEqual(self.find(*self.ROWS, "| EAGAIN | none |"), [])

    def test_something_to_use_that_is_in_no_header_is_found(self):
        for old, new in (("sennit_version", "sennit_versions"), ("linger_ms", "linger_s"),
                         ("SENNIT_EINVAL", "SENNIT_EFAULT")):
            self.assert_one(self.find(*self.but(old, new)), f"{new} is in no public header")

    def test_an_empty_page_does_not_pass_for_a_full_one(self):
        self.assertEqual(len(self.find()), 8)

    def test_a_header_that_is_not_installed_is_a_failure(self):
        self.assertEqual(libzmq.run([self.make({}), "zmq.h-NOTFOUND"]), 1)


class Table(unittest.TestCase):
    def test_every_file_belongs_to_the_most_specific_place(self):
        table = layers.load()
        self.assertEqual(table.layer_of("rpc/include/sennit/rpc.h").name, "rpc_api")
        self.assertEqual(table.layer_of("rpc/bus.c").name, "rpc")
        self.assertEqual(table.layer_of("cluster/cli/cat.c").name, "cli")
        self.assertEqual(table.layer_of("codegen/json_read.c").name, "json")
        self.assertIsNone(table.layer_of("transportation/x.c"))


if __name__ == "__main__":
    unittest.main()
