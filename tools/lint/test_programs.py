# SPDX-License-Identifier: Apache-2.0
"""The checks that run other programs: each one passes on good input and fails on bad."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import format as format_module
import headers
import static_links
import tree

READELF = """
 0x0000000000000001 (NEEDED)             Shared library: [libm.so.6]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x0000000000000001 (NEEDED)             Shared library: [ld-linux-x86-64.so.2]
"""
FOREIGN = " 0x0000000000000001 (NEEDED)             Shared library: [libstdc++.so.6]\n"


class StaticLinksTest(unittest.TestCase):
    def test_glibc_alone(self):
        self.assertEqual(static_links.foreign_libraries(READELF), [])

    def test_foreign_library(self):
        self.assertEqual(static_links.foreign_libraries(READELF + FOREIGN), ["libstdc++.so.6"])

    def test_empty_folder_is_a_finding(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(static_links.main([folder]), 1)


class HeadersTest(unittest.TestCase):
    def compile(self, text):
        compiler = os.environ.get("CXX") or shutil.which("g++")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.h")
            path.write_text(text)
            return headers.compile_alone([compiler], path)

    def test_complete_header(self):
        self.assertEqual(self.compile("#pragma once\n#include <string>\nstd::string f();\n"), "")

    def test_build_proves_what_a_source_includes_first(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.cpp").write_text('// About a.\n#include "base/a.h"\n#include "b.h"\n')
            (root / "b.cpp").write_text('#include <string>\n#include "b.h"\n')
            (root / "c_test.cpp").write_text('#include "c.h"\n')
            (root / "e.cpp").write_text('#include "e.h"\n')
            (root / "base").mkdir()
            (root / "base" / "a.cpp").write_text('#include "base/a.h"\n')
            names = ("a.cpp", "b.cpp", "c_test.cpp", "base/a.cpp")
            behind = {str(root / name): set() for name in names}
            proved = [headers.proved_by_build(root, f"{name}.h", behind, set()) for name in "abcde"]
            self.assertEqual(proved, [False, False, True, False, False])
            self.assertTrue(headers.proved_by_build(root, "base/a.h", behind, set()))

    def test_behind_a_precompiled_header_only_who_includes_all_of_it_is_proved(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.cpp").write_text('#include "a.h"\n')
            behind = {str(root / "a.cpp"): {"atomic", "string"}}
            for names, is_proved in (
                ({"atomic", "string", "map"}, True),
                ({"atomic", "map"}, False),
                (set(), False),
            ):
                self.assertEqual(headers.proved_by_build(root, "a.h", behind, names), is_proved)

    def test_what_the_build_compiles_behind_a_precompiled_header(self):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder, "cmake_pch.hxx")
            header.write_text('#pragma once\n#include <atomic>\n#include "/source/kit.h"\n')
            commands = [
                {"file": "/a.cpp", "command": "g++ -c /a.cpp"},
                {"file": "/b.cpp", "command": f"g++ -include {header} -c /b.cpp"},
                {"file": "/c.cpp", "command": f"g++ -include {header} -c /c.cpp"},
                {"file": "/c.cpp", "command": "g++ -c /c.cpp"},
            ]
            self.assertEqual(
                headers.compiled_behind(json.dumps(commands)),
                {"/a.cpp": set(), "/b.cpp": {"atomic", "/source/kit.h"}, "/c.cpp": set()},
            )

    def test_the_first_file_of_several_compiled_as_one_has_nothing_before_it(self):
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder, "Unity", "unity_0_cxx.cxx")
            unit.parent.mkdir()
            unit.write_text('/* generated */\n\n#include "/a.cpp"\n\n#include "/b.cpp"\n')
            command = {"file": str(unit), "command": "g++"}
            behind = headers.compiled_behind(json.dumps([command]))
            self.assertEqual(behind, {str(unit): set(), "/a.cpp": set()})
            header = pathlib.Path(folder, "cmake_pch.hxx")
            header.write_text("#include <gtest/gtest.h>\n")
            command["command"] = f"g++ -include {header}"
            behind = headers.compiled_behind(json.dumps([command]))
            self.assertEqual(behind["/a.cpp"], {"gtest/gtest.h"})

    def test_chains_of_headers_that_include_each_other(self):
        sources = tree.Tree(
            {
                "src/a.h": "#include <string>\n",
                "src/b.h": '#include <string>\n#include "a.h"\n',
                "src/c.h": '#include "b.h"\n',
                "src/d.h": '#include "a.h"\n',
                "src/e.cpp": '#include "d.h"\n',
            }
        )
        seen = headers.seen_by(sources)
        self.assertEqual(seen["src/c.h"], {"src/a.h", "src/b.h"})
        self.assertEqual(
            list(headers.chains(seen, seen)), [["src/a.h", "src/b.h", "src/c.h"], ["src/d.h"]]
        )

    def test_libraries_that_a_header_and_those_it_includes_all_include(self):
        sources = tree.Tree(
            {
                "src/a.h": "// About a.\n#pragma once\n\n#include <memory>\n",
                "src/b.h": '#include <vector>\n\n#include "a.h"\n',
                "src/c.h": "#include <memory>\nint c();\n#include <vector>\n",
                "src/d.h": "#define SMALL\n#include <vector>\n",
                "src/e.h": '#include "d.h"\n',
            }
        )
        names = headers.libraries_of(sources, headers.seen_by(sources))
        rows = {path: headers.row_for(names[path]) for path in names}
        self.assertEqual(rows.pop("src/b.h"), ("memory", "vector"))
        self.assertEqual(set(rows.values()), {()})

    def test_what_is_precompiled_hides_nothing_that_is_missing(self):
        compiler = os.environ.get("CXX") or shutil.which("g++")
        with tempfile.TemporaryDirectory() as folder:
            good, bad = pathlib.Path(folder, "good.h"), pathlib.Path(folder, "bad.h")
            good.write_text("#pragma once\n#include <vector>\nstd::vector<int> good();\n")
            bad.write_text("#pragma once\n#include <vector>\nstd::map<int, int> bad();\n")
            lists = [(("vector",), [good]), (("vector",), [bad])]
            found = headers.check([compiler], folder, lists)
            self.assertEqual([path for path, _ in found], [bad])
            self.assertTrue(list(pathlib.Path(folder).glob("*.h.gch")))

    def test_the_bad_header_of_a_chain_is_named(self):
        compiler = os.environ.get("CXX") or shutil.which("g++")
        with tempfile.TemporaryDirectory() as folder:
            texts = {"a.h": "", "b.h": '#include "a.h"\nstd::string b();\n', "c.h": "int c();\n"}
            paths = [pathlib.Path(folder, name) for name in texts]
            for path, text in zip(paths, texts.values()):
                path.write_text(text)
            self.assertEqual([path for path, _ in headers.findings([compiler], paths)], paths[1:2])
            self.assertEqual(headers.findings([compiler], paths[:1] + paths[2:]), [])

    def test_header_that_needs_another(self):
        self.assertIn("string", self.compile("#pragma once\nstd::string f();\n"))


class FormatTest(unittest.TestCase):
    def test_check_then_format(self):
        clang_format = format_module.find_clang_format()
        if clang_format is None:
            self.skipTest("clang-format is not installed")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(format_module.ROOT / ".clang-format", folder)
            pathlib.Path(folder, "a.cpp").write_text("int  f( ){return 1 ;}\n")
            self.assertFalse(format_module.run(clang_format, folder, ["a.cpp"], check=True))
            self.assertTrue(format_module.run(clang_format, folder, ["a.cpp"], check=False))
            self.assertTrue(format_module.run(clang_format, folder, ["a.cpp"], check=True))


class TreeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("a.h", "build/b.h", "sub/c.h"):
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("x\n")
        (self.root / "picture.png").write_bytes(b"\x89PNG\xff")

    def test_without_git(self):
        self.assertEqual(tree.list_paths(self.root), ["a.h", "picture.png", "sub/c.h"])

    def test_git_leaves_ignored_files_out(self):
        if shutil.which("git") is None:
            self.skipTest("git is not installed")
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        (self.root / ".gitignore").write_text("sub/\n")
        self.assertNotIn("sub/c.h", tree.list_paths(self.root))

    def test_pictures_are_no_text(self):
        self.assertEqual(tree.read(self.root).paths, {"a.h", "sub/c.h"})


if __name__ == "__main__":
    unittest.main()
