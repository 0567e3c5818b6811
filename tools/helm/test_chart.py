# SPDX-License-Identifier: Apache-2.0
"""Charts on disk, values and their schema."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import chart
import main
import schema
from template_text import TemplateError

VALUES = "name: x\ncount: 1\nnested: {a: 1, b: {c: 2}}\nnothing: null\n"
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "nested": {"type": "object", "additionalProperties": {"$ref": "#/$defs/any"}},
        "nothing": {"type": ["string", "null"], "enum": ["a", None]},
        "list": {"type": "array", "items": {"type": "boolean"}},
    },
    "$defs": {"any": {"type": ["integer", "object"]}},
}
OBJECT = """{{- if gt (len .Values.name) 0 }}
kind: A
name: {{ include "full" . }}
served: {{ .Capabilities.APIVersions.Has "x/v1" }}
{{- end }}
---
kind: B
"""


class Charts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("Chart.yaml", "name: c\nversion: 1.0.0\nappVersion: 2.0.0\n")
        self.write("values.yaml", VALUES)
        self.write("values.schema.json", json.dumps(SCHEMA))
        name = "{{ .Release.Name }}-{{ .Values.name }}"
        self.write("templates/_names.tpl", '{{ define "full" }}' + name + "{{ end }}")
        self.write("templates/README.md", "{{ not a template")
        self.write("templates/a.yaml", OBJECT)
        self.write("templates/NOTES.txt", "{{ .Chart.AppVersion }} is there")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")

    def test_objects(self):
        objects = chart.Chart(self.folder).manifests({"name": "y"}, ["x/v1"], Name="r")
        self.assertEqual(objects, [{"kind": "A", "name": "r-y", "served": True}, {"kind": "B"}])

    def test_notes_are_no_object(self):
        texts = chart.Chart(self.folder).render()
        self.assertEqual(set(texts), {"a.yaml", "NOTES.txt"})
        self.assertEqual(texts["NOTES.txt"], "2.0.0 is there")

    def test_values_are_merged_by_key(self):
        base = chart.load_yaml(VALUES)
        result = chart.merged(base, {"nested": {"b": {"d": 3}}, "count": 2})
        self.assertEqual(result["nested"], {"a": 1, "b": {"c": 2, "d": 3}})
        self.assertEqual((result["count"], base["count"]), (2, 1))

    def test_key_twice(self):
        with self.assertRaisesRegex(Exception, "twice"):
            chart.load_yaml("a: 1\na: 2\n")

    def test_no_yaml(self):
        self.write("templates/a.yaml", "a: [1\n")
        with self.assertRaisesRegex(TemplateError, "a.yaml makes no YAML"):
            chart.Chart(self.folder).manifests()

    def test_schema(self):
        good = chart.load_yaml(VALUES)
        self.assertEqual(list(schema.problems(good, SCHEMA)), [])
        for change, words in (
            ({"name": 1}, "name is 1"),
            ({"name": "X"}, "not of the form"),
            ({"name": "abcd"}, "too long"),
            ({"count": 0}, "out of range"),
            ({"count": True}, "count is True"),
            ({"nested": {"z": "text"}}, "nested.z"),
            ({"nothing": "b"}, "one of"),
            ({"list": [True, 1]}, r"list\[1\]"),
            ({"unknown": 1}, "unknown is not known"),
        ):
            with self.subTest(change), self.assertRaisesRegex(TemplateError, words):
                chart.Chart(self.folder).render(change)
        self.assertEqual(list(schema.problems({}, SCHEMA)), ["values has no name"])
        (text,) = schema.problems(1, {"oneOf": []})
        self.assertIn("oneOf", text)

    def test_program(self):
        self.write("more.yaml", "name: z\ncount: 3\n")
        words = [str(self.folder), "-f", str(self.folder / "more.yaml"), "--set", "name=q"]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(main.main(words), 0)
        self.assertIn("name: nvshare-q", out.getvalue())
        self.assertNotIn("is there", out.getvalue())
        with contextlib.redirect_stderr(io.StringIO()) as out:
            self.assertEqual(main.main([*words, "--set", "count=x"]), 1)
        self.assertIn("error: values: count", out.getvalue())


if __name__ == "__main__":
    unittest.main()
