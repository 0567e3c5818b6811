#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libnvshare.so as the loader sees it: what it needs, what it exports, what it runs when loaded.

usage: library_test.py LIBRARY HOOKS_DEF [UNITTEST_ARGUMENT...]
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

LIBRARY, HOOKS = "", ""

# libdl and libpthread: those of systems where they are not part of libc yet.
NEEDED = {"libc.so.6", "libdl.so.2", "libpthread.so.0"}
# Containers are older than the machine that we build on. CentOS 7 had this one, and it is the first
# that knows aarch64.
GLIBC_MAX = (2, 17)
# Whatever else the library wants is a function that a sanitizer may intercept before it is ready,
# or that an old libc does not have. A new name here is a decision.
UNDEFINED = {
    "__environ",  # the environment, under both of its names
    "environ",
    "__register_atfork",
    "dl_iterate_phdr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
}
# Null where nobody defines them.
UNDEFINED_WEAK = {
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
    "__cxa_finalize",
    "__gmon_start__",
    "_r_debug",
}
EXPORTED_ACTIONS = {"gate", "own", "jump"}
EXPORTED_BESIDES = {"dlsym", "dlvsym"}
# What the compiler puts into every library. At the end of a program that was debugged, the log says
# its last words; in others that function looks at a flag and returns, as the bystanders show.
START_FUNCTIONS = {"frame_dummy"}
END_FUNCTIONS = {
    "__do_global_dtors_aux",
    "_ZN3nvs10interposer5debug12_GLOBAL__N_17at_exitEv",
}

HOOK = re.compile(r"^NVS_(?:CUDA|NVML)_HOOK\((\w+), (\w+), (\w+)\)", re.MULTILINE)
DYNAMIC = re.compile(r"^ 0x[0-9a-f]+ +\((\w+)\) +(.*)$", re.MULTILINE)
SEGMENT = re.compile(r"^  (\w+) +(?:0x[0-9a-f]+ +){5}([RWE ]{3})", re.MULTILINE)
RELOCATION = re.compile(r"^([0-9a-f]+)  [0-9a-f]+ (R_\w+) *(.*)$", re.MULTILINE)
SYMBOL = re.compile(r"^ *\d+: ([0-9a-f]+) +\S+ +FUNC +\w+ +\w+ +\w+ +(\S+)$", re.MULTILINE)


def output_of(*command):
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        [*command, LIBRARY], env=environment, capture_output=True, text=True, check=True
    ).stdout


def dynamic():
    """The entries of the dynamic section, as (tag, text)."""
    return DYNAMIC.findall(output_of("readelf", "--dynamic", "--wide"))


def relocations():
    """(address, kind, rest of the line) of each."""
    text = output_of("readelf", "--relocs", "--wide")
    return [(int(at, 16), kind, rest) for at, kind, rest in RELOCATION.findall(text)]


def symbols(*options):
    """(letter, name) of dynamic symbols, as nm shows them."""
    lines = output_of("nm", "--dynamic", *options).splitlines()
    return [tuple(line.split()[-2:]) for line in lines]


def bare(name):
    return name.partition("@")[0]


class Needs(unittest.TestCase):
    def test_libc_and_nothing_else(self):
        needed = {text.partition("[")[2].rstrip("]") for tag, text in dynamic() if tag == "NEEDED"}
        self.assertLessEqual(needed, NEEDED)
        self.assertIn("libc.so.6", needed)

    def test_an_old_libc_is_enough(self):
        text = output_of("readelf", "--version-info", "--wide")
        wanted = set(re.findall(r"Name: (\S+) +Flags: ", text.partition("Version needs")[2]))
        self.assertTrue(wanted, "no version of libc is asked for: does readelf speak otherwise?")
        numbered = {name: re.fullmatch(r"GLIBC_(\d+(?:\.\d+)+)", name) for name in wanted}
        self.assertNotIn(None, numbered.values(), numbered)
        numbers = {
            tuple(map(int, match.group(1).split("."))): name for name, match in numbered.items()
        }
        highest = max(numbers)
        print(f"highest version of libc that is needed: {numbers[highest]}")
        self.assertLessEqual(highest[:2], GLIBC_MAX, numbers)

    def test_no_symbol_but_those_allowed(self):
        undefined = {(letter, bare(name)) for letter, name in symbols("--undefined-only")}
        strong = {name for letter, name in undefined if letter == "U"}
        weak = {name for letter, name in undefined if letter in "wv"}
        self.assertEqual(len(strong) + len(weak), len(undefined), undefined)
        self.assertLessEqual(strong, UNDEFINED)
        self.assertLessEqual(weak, UNDEFINED_WEAK)


class Exports(unittest.TestCase):
    def test_exactly_the_table_dlsym_and_dlvsym(self):
        rows = HOOK.findall(pathlib.Path(HOOKS).read_text(encoding="utf-8"))
        table = {symbol for symbol, _, action in rows if action in EXPORTED_ACTIONS}
        self.assertGreater(len(table), 100, "is this the table?")
        exported = {name for _, name in symbols("--defined-only")}
        self.assertEqual(exported - table, EXPORTED_BESIDES)
        self.assertEqual(table - exported, set())

    def test_all_are_functions(self):
        self.assertEqual({letter for letter, _ in symbols("--defined-only")}, {"T"})

    def test_without_versions(self):
        """A version would let references to dlsym@GLIBC_2.2.5 or @GLIBC_2.34 pass us by."""
        self.assertEqual([name for _, name in symbols("--defined-only") if "@" in name], [])


class Loading(unittest.TestCase):
    def test_no_paths_of_the_build_machine(self):
        self.assertFalse({"RPATH", "RUNPATH"} & {tag for tag, _ in dynamic()})

    def test_it_is_found_by_its_name(self):
        self.assertIn(("SONAME", "Library soname: [libnvshare.so]"), dynamic())

    def test_code_is_shared_and_not_writable(self):
        entries = dynamic()
        self.assertNotIn("TEXTREL", {tag for tag, _ in entries})
        self.assertNotIn("TEXTREL", " ".join(text for tag, text in entries if tag == "FLAGS"))
        segments = SEGMENT.findall(output_of("readelf", "--segments", "--wide"))
        self.assertIn(("LOAD", "R E"), segments)
        self.assertEqual([flags for _, flags in segments if "W" in flags and "E" in flags], [])

    def test_the_stack_is_not_executable(self):
        segments = SEGMENT.findall(output_of("readelf", "--segments", "--wide"))
        self.assertEqual([flags for kind, flags in segments if kind == "GNU_STACK"], ["RW "])

    def test_every_table_is_data(self):
        """A guard variable stands for one that is filled at run time, here without a lock."""
        self.assertNotRegex(output_of("readelf", "--symbols", "--wide"), r"\b_ZGV")

    def test_the_search_begins_where_the_programs_does(self):
        """With this flag dlsym(RTLD_DEFAULT) would look into our library before all others."""
        flags = " ".join(text for tag, text in dynamic() if tag == "FLAGS")
        self.assertNotIn("SYMBOLIC", flags)
        self.assertNotIn("SYMBOLIC", {tag for tag, _ in dynamic()})

    def test_programs_keep_their_shadow_stacks(self):
        if "X86-64" in output_of("readelf", "--file-header"):
            self.assertIn("SHSTK", output_of("readelf", "--notes"))

    def test_thread_local_storage_is_reached_directly(self):
        """Other ways call __tls_get_addr, which allocates when a thread first gets there."""
        indirect = re.compile("DTPMOD|DTPOFF|DTPREL|TLSDESC|TLS_DTP")
        self.assertEqual([entry for entry in relocations() if indirect.search(entry[1])], [])
        if any(kind == "TLS" for kind, _ in SEGMENT.findall(output_of("readelf", "-lW"))):
            flags = " ".join(text for tag, text in dynamic() if tag == "FLAGS")
            self.assertIn("STATIC_TLS", flags)

    def functions_of(self, array):
        """The names of the functions in an array that the loader runs through."""
        entries = dict(dynamic())
        if array not in entries:
            return set()
        start = int(entries[array], 16)
        end = start + int(entries[f"{array}SZ"].split()[0])
        names = {}
        for address, name in SYMBOL.findall(output_of("readelf", "--symbols", "--wide")):
            names.setdefault(int(address, 16), name)
        targets = [
            int(rest.split()[-1], 16) for at, _, rest in relocations() if start <= at < end
        ]
        self.assertEqual(len(targets), (end - start) // 8, "an entry that is not relocated")
        return {names.get(target, hex(target)) for target in targets}

    def test_nothing_of_ours_runs_by_itself(self):
        self.assertLessEqual(self.functions_of("INIT_ARRAY"), START_FUNCTIONS)
        self.assertLessEqual(self.functions_of("FINI_ARRAY"), END_FUNCTIONS)
        self.assertNotIn("PREINIT_ARRAY", {tag for tag, _ in dynamic()})
        sections = output_of("readelf", "--sections", "--wide")
        self.assertIsNone(re.search(r"\.[cd]tors\b", sections))


if __name__ == "__main__":
    LIBRARY, HOOKS = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
