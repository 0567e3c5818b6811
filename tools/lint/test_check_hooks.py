# SPDX-License-Identifier: Apache-2.0
import contextlib
import dataclasses
import io
import os
import pathlib
import shutil
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import check_hooks  # noqa: E402  (the path above is where it is)

SPEC = {
    "hooks.def": """
// NVS_CUDA_HOOK(symbol, class, action)
NVS_CUDA_HOOK(cuGLMapBufferObject, submit, jump)
NVS_CUDA_HOOK(cuInit, pass, none)
NVS_CUDA_HOOK(cuMemAlloc, alloc, own)
NVS_CUDA_HOOK(cuMemAlloc_v2, alloc, own)
NVS_CUDA_HOOK(cuStreamQuery, pass, none)
NVS_CUDA_HOOK(cuStreamQuery_ptsz, pass, none)
NVS_CUDA_HOOK(cuWork, submit, gate)
NVS_NVML_HOOK(nvmlDeviceGetMemoryInfo, query, jump)
NVS_NVML_HOOK(nvmlDeviceGetMemoryInfo_v2, query, jump)
""",
    "cuda_entry_points.def": """
NVS_CUDA_ENTRY(cuGLMapBufferObject, cuGLMapBufferObject, 0, any)
NVS_CUDA_ENTRY(cuInit, cuInit, 0, any)
NVS_CUDA_ENTRY(cuMemAlloc, cuMemAlloc, 0, any)
NVS_CUDA_ENTRY(cuMemAlloc_v2, cuMemAlloc, 3020, any)
NVS_CUDA_ENTRY(cuStreamQuery, cuStreamQuery, 0, legacy)
NVS_CUDA_ENTRY(cuStreamQuery_ptsz, cuStreamQuery, 7000, per_thread)
NVS_CUDA_ENTRY(cuWork, cuWork, 0, any)
""",
    "cuda_functions.def": """
NVS_CUDA_FUNCTION(cuInit, unsigned int Flags)
NVS_CUDA_FUNCTION(cuMemAlloc, CUdeviceptr_v1* dptr,
                  unsigned int bytesize)
NVS_CUDA_FUNCTION(cuMemAlloc_v2, CUdeviceptr* dptr, size_t bytesize)
NVS_CUDA_FUNCTION(cuStreamQuery, CUstream hStream)
NVS_CUDA_VARIANT(cuStreamQuery_ptsz, cuStreamQuery)
NVS_CUDA_FUNCTION(cuWork)
""",
    "nvml_entry_points.def": """
NVS_NVML_ENTRY(nvmlDeviceGetMemoryInfo)
NVS_NVML_ENTRY(nvmlDeviceGetMemoryInfo_v2)
NVS_NVML_ENTRY(nvmlInit)
""",
    "nvml_functions.def": "NVS_NVML_FUNCTION(nvmlReturn_t, nvmlInit)\n",
}

HEADER = """
#define CUDA_VERSION 99000
#if defined(__CUDA_API_VERSION_INTERNAL) || defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define __CUDA_API_PTSZ(api) api##_ptsz
#else
#define __CUDA_API_PTSZ(api) api
#endif
#define cuMemAlloc cuMemAlloc_v2
#define cuStreamQuery __CUDA_API_PTSZ(cuStreamQuery)
#define __CUDA_DEPRECATED __attribute__((deprecated("for \\"reasons\\"")))
extern "C" {
typedef CUresult (*CUcallback)(CUstream stream);
__CUDA_DEPRECATED CUresult cuInit(unsigned int Flags);
CUresult cuMemAlloc(CUdeviceptr *dptr, size_t bytesize);
CUresult cuStreamQuery(CUstream hStream);
"""


def tables_of(texts):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            pathlib.Path(folder, name).write_text(text)
        return check_hooks.read_tables(pathlib.Path(folder))


def changed(old, new, file="hooks.def"):
    assert old in SPEC[file]
    return tables_of(SPEC | {file: SPEC[file].replace(old, new)})


class TableTest(unittest.TestCase):
    def wrong(self, tables):
        return [*check_hooks.check_cuda(tables), *check_hooks.check_nvml(tables)]

    def assert_one(self, tables, *parts):
        found = self.wrong(tables)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_good_table(self):
        self.assertEqual(self.wrong(tables_of(SPEC)), [])

    def test_missing_row(self):
        tables = changed("NVS_CUDA_HOOK(cuInit, pass, none)\n", "")
        self.assert_one(tables, "cuInit", "without a row")

    def test_row_of_no_entry_point(self):
        tables = changed("NVS_CUDA_HOOK(cuInit,", "NVS_CUDA_HOOK(cuHello, pass, none)\n"
                         "NVS_CUDA_HOOK(cuInit,")
        self.assert_one(tables, "cuHello", "not among")

    def test_two_rows(self):
        row = "NVS_CUDA_HOOK(cuInit, pass, none)\n"
        self.assert_one(changed(row, row * 2), "cuInit: two rows")

    def test_order_is_that_of_bytes(self):
        first = "NVS_CUDA_HOOK(cuMemAlloc, alloc, own)\n"
        second = "NVS_CUDA_HOOK(cuMemAlloc_v2, alloc, own)\n"
        self.assert_one(changed(first + second, second + first), "cuMemAlloc: stands after")

    def test_unknown_class_and_action(self):
        self.assert_one(changed("cuInit, pass,", "cuInit, passes,"), "no class passes")
        self.assert_one(changed("cuInit, pass, none", "cuInit, pass, gone"), "action gone")

    def test_pairs_that_do_not_go_together(self):
        for pair in ("pass, gate", "pass, jump", "query, none", "lookup, jump", "submit, own"):
            with self.subTest(pair=pair):
                self.assert_one(changed("cuInit, pass, none", f"cuInit, {pair}"), "does not go")

    def test_untyped_row_can_only_jump(self):
        tables = changed("cuGLMapBufferObject, submit, jump", "cuGLMapBufferObject, submit, gate")
        self.assert_one(tables, "cuGLMapBufferObject", "needs its type")

    def test_typed_submission_passes_the_gate(self):
        self.assert_one(changed("cuWork, submit, gate", "cuWork, submit, jump"), "the gate")

    def test_a_hook_of_our_own_may_pass_it_by_hand(self):
        own = changed("cuWork, submit, gate", "cuWork, submit, own")
        self.assert_one(own, "does not go")
        with mock.patch.object(check_hooks, "GATED_BY_HAND", {"cuWork"}):
            self.assertEqual(self.wrong(own), [])

    def test_variants_are_alike(self):
        tables = changed("cuMemAlloc_v2, alloc, own", "cuMemAlloc_v2, alloc, jump")
        self.assert_one(tables, "cuMemAlloc: its variants differ: alloc/jump, alloc/own")
        tables = changed("cuMemAlloc_v2, alloc, own", "cuMemAlloc_v2, pass, none")
        self.assert_one(tables, "cuMemAlloc: its variants differ: alloc/own, pass/none")

    def test_every_version_of_an_nvml_function(self):
        tables = changed("NVS_NVML_HOOK(nvmlDeviceGetMemoryInfo_v2, query, jump)\n", "")
        self.assert_one(tables, "nvmlDeviceGetMemoryInfo_v2", "another version")

    def test_own_nvml_function_needs_a_type(self):
        tables = changed("MemoryInfo, query, jump", "MemoryInfo, query, own")
        untyped, different = self.wrong(tables)
        self.assertIn("nvmlDeviceGetMemoryInfo: action own needs its type", untyped)
        self.assertIn("its variants differ: query/jump, query/own", different)


class LeftAloneTest(unittest.TestCase):
    def wrong(self, tables, reasons):
        with mock.patch.object(check_hooks, "LEFT_ALONE", reasons):
            return list(check_hooks.check_left_alone(tables))

    def test_pass_that_looks_like_more(self):
        self.assertEqual(self.wrong(tables_of(SPEC), {}), [])
        tables = tables_of(SPEC)
        tables.cuda = [(symbol, "pass", "none") for symbol, *_ in tables.cuda]
        found = self.wrong(tables, {})
        self.assertEqual([line.split(":")[0] for line in found],
                         ["cuGLMapBufferObject", "cuMemAlloc", "cuMemAlloc_v2"])
        self.assertIn("gives back a CUdeviceptr_v1", found[1])

    def test_reason_is_for_all_variants(self):
        tables = tables_of(SPEC)
        tables.cuda = [("cuMemAlloc", "pass", "none"), ("cuMemAlloc_v2", "pass", "none")]
        self.assertEqual(self.wrong(tables, {"cuMemAlloc": "memory of the host"}), [])

    def test_reason_that_nothing_needs(self):
        found = self.wrong(tables_of(SPEC), {"cuInit": "starts"})
        self.assertEqual(found, ["cuInit: in LEFT_ALONE for nothing"])


class LooksTest(unittest.TestCase):
    def assert_looks(self, symbol, parameters, *parts):
        reasons = check_hooks.looks(symbol, parameters)
        self.assertEqual(len(reasons), len(parts), reasons)
        for reason, part in zip(reasons, parts):
            self.assertIn(part, reason)

    def test_by_parameters(self):
        self.assert_looks("cuFoo", "int x, CUstream s", "takes a CUstream")
        self.assert_looks("cuFoo", "CUstream* s")
        self.assert_looks("cuFooGetBar", "CUstream s")
        self.assert_looks("cuFoo", "CUarray *a", "gives back a CUarray")
        self.assert_looks("cuFoo", "CUmemGenericAllocationHandle* h", "gives back")
        self.assert_looks("cuFoo", "const CUdeviceptr* list, CUdeviceptr one, CUarray a")

    def test_by_name(self):
        self.assert_looks("cuFooAsync_ptsz", "int x", "'Async' is in its name")
        self.assert_looks("cuDeviceRegisterAsyncNotification", "int x")
        self.assert_looks("cuMemGetAllocationGranularity", "int x")
        self.assert_looks("cuMemAllocSoon", "int x", "'Alloc' is in its name")
        self.assert_looks("cuLaunchAlloc", "CUstream s, CUdeviceptr* p",
                          "'Launch'", "takes a CUstream", "'Alloc'", "gives back a CUdeviceptr")

    def test_finds_what_the_table_knows(self):
        """A guess that misses a known launch would miss the next one, too."""
        tables = check_hooks.read_tables()
        for symbol, kind, action in tables.cuda:
            if kind == "submit" or (kind == "alloc" and action == "own"):
                with self.subTest(symbol=symbol):
                    verb = "submits" if kind == "submit" else "allocates"
                    reasons = check_hooks.looks(symbol, tables.parameters.get(symbol, ""))
                    self.assertTrue(any(reason.startswith(verb) for reason in reasons), reasons)


class HeaderTest(unittest.TestCase):
    def functions(self, text, companions=()):
        compiler = os.environ.get("CXX") or shutil.which("g++")
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder, "cuda.h")
            header.write_text(text + "}\n")
            for name, companion in companions:
                pathlib.Path(folder, name).write_text(companion)
            return check_hooks.header_functions(header, compiler)

    def found(self, text, companions=()):
        functions = self.functions(text, companions)
        return list(check_hooks.check_header(functions, tables_of(SPEC)))

    def test_renamed_variants_are_walked(self):
        functions = self.functions(HEADER)
        self.assertEqual(sorted(functions),
                         ["cuInit", "cuMemAlloc_v2", "cuStreamQuery", "cuStreamQuery_ptsz"])
        self.assertEqual(functions["cuMemAlloc_v2"], "CUdeviceptr *dptr, size_t bytesize")

    def test_known_header(self):
        self.assertEqual(self.found(HEADER), [])

    def test_new_launch(self):
        found = self.found(HEADER + "CUresult cuLaunchSomething(CUfunction f,\n  CUstream s);\n")
        self.assertEqual(found, [
            "cuLaunchSomething: declared by NVIDIA's header, without a row; looks like one that "
            "submits work: 'Launch' is in its name; submits work: it takes a CUstream"])

    def test_new_version_and_variant_of_a_known_function(self):
        text = HEADER + "#define cuWork __CUDA_API_PTSZ(cuWork_v2)\n"
        found = self.found(text + "CUresult cuWork(CUdeviceptr* p);\n")
        self.assertEqual([line.split(":")[0] for line in found], ["cuWork_v2", "cuWork_v2_ptsz"])
        self.assertIn("allocates: it gives back a CUdeviceptr", found[0])

    def test_declared_in_one_view_alone(self):
        internal, per_thread = "__CUDA_API_VERSION_INTERNAL", "CUDA_API_PER_THREAD_DEFAULT_STREAM"
        for condition in (f"defined({internal})", f"defined({per_thread})",
                          f"!defined({internal}) && !defined({per_thread})"):
            with self.subTest(condition=condition):
                text = f"{HEADER}#if {condition}\nCUresult cuOdd(int x);\n#endif\n"
                self.assertEqual(self.found(text), [
                    "cuOdd: declared by NVIDIA's header, without a row; looks harmless"])

    def test_companion_headers(self):
        includes = "".join(f"#include <{name}>\n" for name in check_hooks.FOREIGN)
        for name in ("cudaProfiler.h", *check_hooks.INTEROP):
            with self.subTest(name=name):
                companion = (name, includes + "CUresult cuNew(GLuint buffer);\n")
                self.assertIn("cuNew: declared", self.found(HEADER, [companion])[0])


class MainTest(unittest.TestCase):
    def run_main(self, tables, header):
        output = io.StringIO()
        with (mock.patch.object(check_hooks, "read_tables", lambda: tables),
              mock.patch.object(check_hooks.check_cuda_headers, "find_header", lambda _: header),
              mock.patch.object(sys, "argv", ["check_hooks.py"]),
              contextlib.redirect_stdout(output)):
            return check_hooks.main(), output.getvalue()

    def test_rows_are_checked_without_a_header(self):
        tables = check_hooks.read_tables()
        status, output = self.run_main(tables, None)
        self.assertEqual(status, 0, output)
        self.assertIn("there is no cuda.h on this machine", output)
        status, output = self.run_main(dataclasses.replace(tables, cuda=tables.cuda[1:]), None)
        self.assertEqual(status, 1)
        self.assertIn(f"{tables.cuda[0][0]}: an entry point without a row", output)

    def test_header_with_something_new(self):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder, "cuda.h")
            header.write_text(HEADER + "CUresult cuLaunchSomething(CUstream s);\n}\n")
            status, output = self.run_main(check_hooks.read_tables(), header)
            self.assertEqual(status, 1)
            self.assertIn("CUDA_VERSION 99000: 5 functions", output)
            self.assertIn("cuLaunchSomething", output)
            header.write_text("\n")
            status, output = self.run_main(check_hooks.read_tables(), header)
            self.assertEqual(status, 1)
            self.assertIn("no function could be read", output)


if __name__ == "__main__":
    unittest.main()
