# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import gen_docs  # noqa: E402  (the path above is where it is)

ENTRIES = """
NVS_CUDA_ENTRY(cuInit, cuInit, 2000, any)
NVS_CUDA_ENTRY(cuMemAlloc, cuMemAlloc, 0, any)
NVS_CUDA_ENTRY(cuMemAlloc_v2, cuMemAlloc, 3020, any)
// NVS_CUDA_ENTRY(commented, out, 0, any)
NVS_CUDA_ENTRY(cuStreamWait_ptsz, cuStreamWait, 7000, per_thread)
"""


class GenDocsTest(unittest.TestCase):
    def test_settings(self):
        spec = 'NVS_SIM_SETTING(A, count, 64, "Size, or \\"scale\\".")\n'
        spec += 'NVS_SIM_SETTING(B, text, "", "one "\n    "two | three")\n'
        lines = gen_docs.settings(spec).splitlines()
        self.assertEqual(lines[2], '| `A` | count | `64` | Size, or "scale". |')
        self.assertEqual(lines[3], "| `B` | text |  | one two \\| three |")

    def test_counts(self):
        text = gen_docs.cuda_counts(ENTRIES, "NVS_CUDA_FUNCTION(cuInit, int x)\n")
        self.assertIn("| exported symbols | 4 |", text)
        self.assertIn("asked for | 3 |", text)
        self.assertIn("| declared with full types | 1 |", text)
        self.assertIn("per-thread default stream alone | 1 |", text)

    def test_versions(self):
        text = gen_docs.cuda_versions(ENTRIES)
        self.assertIn("| the first version | 1 |\n| CUDA 2.0 | 1 |\n| CUDA 3.2 | 1 |", text)

    def test_hooks(self):
        hooks = "NVS_CUDA_HOOK(cuMemAlloc, alloc, own)\nNVS_CUDA_HOOK(cuMemAlloc_v2, alloc, own)\n"
        hooks += "NVS_CUDA_HOOK(cuInit, alloc, own)\n// NVS_CUDA_HOOK(commented, out, own)\n"
        hooks += "NVS_NVML_HOOK(nvmlA, query, jump)\nNVS_NVML_HOOK(nvmlA_v2, query, jump)\n"
        lines = gen_docs.hook_counts(hooks, ENTRIES).splitlines()
        self.assertEqual(lines[2], "| CUDA | alloc | own | 2 | 3 |")
        self.assertEqual(lines[3], "| NVML | query | jump | 1 | 2 |")
        lines = gen_docs.hook_names(hooks, ENTRIES).splitlines()
        self.assertEqual(lines[2], "| alloc | own | `cuInit`, `cuMemAlloc` |")
        self.assertEqual(lines[3], "| query | jump | `nvmlA` |")

    def test_messages(self):
        spec = "// A page's head.\n\n// It asks: may I?\n// Or not.\nNVS_MESSAGE(Ask, 3, client)\n"
        spec += "NVS_FIELD(Ask, u32, ordinal)   // below 30 | up\nNVS_FIELD(Ask, u32, zero)\n"
        spec += "NVS_TEXT(Ask, name, 64)\nNVS_FIELD(Ask, u64, grant)\nNVS_MESSAGE_END(Ask)\n\n"
        spec += "NVS_MESSAGE(Answer, 64, daemon)\nNVS_BYTES(Answer, uuid, 16)\n"
        spec += "NVS_MESSAGE_END(Answer)\n"
        self.assertEqual(
            gen_docs.wire_messages(spec).splitlines(),
            [
                "## Ask",
                "",
                "Type 3, from the client, 88 bytes. It asks: may I? Or not.",
                "",
                "| at | type | field | meaning |",
                "| --- | --- | --- | --- |",
                "| 8 | u32 | `ordinal` | below 30 \\| up |",
                "| 12 | u32 | `zero` | 0, so that there are no gaps |",
                "| 16 | text[64] | `name` |  |",
                "| 80 | u64 | `grant` |  |",
                "",
                "## Answer",
                "",
                "Type 64, from the daemon, 24 bytes.",
                "",
                "| at | type | field | meaning |",
                "| --- | --- | --- | --- |",
                "| 8 | bytes[16] | `uuid` |  |",
            ],
        )
        lines = gen_docs.wire_summary(spec).splitlines()
        self.assertEqual(lines[2], "| 3 | [Ask](protocol_messages.md#ask) | client | It asks |")
        self.assertEqual(lines[3], "| 64 | [Answer](protocol_messages.md#answer) | daemon |  |")

    def test_part_is_replaced_once_and_for_all(self):
        page = "a\n<!-- generated: x -->\nold\n<!-- end -->\nb\n"
        once = gen_docs.replace_part(page, "x", "new\n")
        self.assertEqual(once, "a\n<!-- generated: x -->\n\nnew\n\n<!-- end -->\nb\n")
        self.assertEqual(gen_docs.replace_part(once, "x", "new\n"), once)

    def test_page_without_the_part(self):
        with self.assertRaises(ValueError):
            gen_docs.replace_part("a\n", "x", "new\n")


if __name__ == "__main__":
    unittest.main()
