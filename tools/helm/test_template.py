# SPDX-License-Identifier: Apache-2.0
"""Templates: what Go and Helm make of them, and that what is not known is refused."""

import unittest

from template_parser import parse
from template_run import Runner
from template_text import TemplateError


def render(source, **dot):
    defined = {}
    tree = parse(source, "t", defined)
    return Runner(defined).run(tree, dot, "t")


class Templates(unittest.TestCase):
    def check(self, cases, **dot):
        for source, text in cases.items():
            with self.subTest(source):
                self.assertEqual(render(source, **dot), text)

    def refuse(self, cases, **dot):
        for source, words in cases.items():
            with self.subTest(source):
                with self.assertRaises(TemplateError) as caught:
                    render(source, **dot)
                self.assertIn(words, str(caught.exception))

    def test_text_and_white_space(self):
        self.check({
            "plain": "plain",
            "a {{- 1 }} b": "a1 b",
            "a {{ 1 -}}  b": "a 1b",
            "a\n  {{- 1 -}}\n b": "a1b",
            "a {{/* no }} here */}} b": "a  b",
            "a {{- /* gone */ -}} b": "ab",
            "{{ -1 }}": "-1",
            '{{ "}}" }}': "}}",
            "{{ `a\\n` }}": "a\\n",
            '{{ "a\\n\\"" }}': 'a\n"',
        })

    def test_values(self):
        self.check(
            {
                "{{ .a }}": "1",
                "{{ .b.c }}": "x",
                "{{ $.b.c }}": "x",
                "{{ (index .d 0).e }}": "y",
                "{{ true }}": "true",
                "{{ $v := .b }}{{ $v.c }}": "x",
                "{{ $v := 1 }}{{ if true }}{{ $v = 2 }}{{ end }}{{ $v }}": "2",
                "{{ $v := 1 }}{{ if true }}{{ $v := 2 }}{{ end }}{{ $v }}": "1",
            },
            a=1,
            b={"c": "x"},
            d=[{"e": "y"}],
        )

    def test_branches(self):
        self.check(
            {
                "{{ if .yes }}a{{ else }}b{{ end }}": "a",
                "{{ if .no }}a{{ else }}b{{ end }}": "b",
                "{{ if .no }}a{{ else if .yes }}b{{ else }}c{{ end }}": "b",
                "{{ with .map }}{{ .k }}{{ end }}": "v",
                "{{ with .no }}a{{ else }}b{{ end }}": "b",
                "{{ range .list }}<{{ . }}>{{ end }}": "<x><y>",
                "{{ range $i, $one := .list }}{{ $i }}{{ $one }}{{ end }}": "0x1y",
                "{{ range $k, $v := .two }}{{ $k }}={{ $v }} {{ end }}": "a=1 b=2 ",
                "{{ range .empty }}a{{ else }}none{{ end }}": "none",
                "{{ range .list }}{{ $.yes }}{{ end }}": "truetrue",
            },
            yes=True,
            no="",
            map={"k": "v"},
            list=["x", "y"],
            two={"b": 2, "a": 1},
            empty=[],
        )

    def test_logic(self):
        self.check(
            {
                "{{ and 1 2 }}": "2",
                '{{ and "" 2 | quote }}': '""',
                '{{ or "" "x" "y" }}': "x",
                # What follows the answer is not looked at.
                "{{ or true (fail `reached`) }}": "true",
                "{{ and false (fail `reached`) }}": "false",
                "{{ not .nothing }}": "true",
                '{{ eq "a" "b" "a" }}': "true",
                "{{ ne 1 2 }}": "true",
                "{{ gt 2 1 }}": "true",
                '{{ if and (eq .one 1) (not .nothing) }}a{{ end }}': "a",
            },
            nothing=None,
            one=1,
        )

    def test_functions(self):
        self.check(
            {
                '{{ default "x" .nothing }}': "x",
                '{{ .one | default 2 }}': "1",
                '{{ quote "a\\"b" }}': '"a\\"b"',
                '{{ printf "--%s=%d%%" "a" 3 }}': "--a=3%",
                "{{ toYaml .map | nindent 2 }}": "\n  a: 1\n  b:\n  - x",
                "{{ toYaml .one }}": "1",
                '{{ indent 2 "a\\nb" }}': "  a\n  b",
                '{{ "abcdef" | trunc 3 | trimSuffix "c" }}': "ab",
                '{{ add (mul (int64 (trimSuffix "Gi" "8Gi")) 1024) 512 }}Mi': "8704Mi",
                '{{ join "," (without (list "a" "b" "c") "b") }}': "a,c",
                '{{ join "," (keys .map | sortAlpha) }}': "a,b",
                '{{ len (concat (list 1) (list 2 3)) }}': "3",
                '{{ hasKey .map "a" }}{{ has "a" (list "b") }}': "truefalse",
                '{{ kindIs "invalid" .nothing }}{{ kindIs "string" .one }}': "truefalse",
                '{{ sha256sum "" | trunc 8 }}': "e3b0c442",
                '{{ replace "a" "b" "aa" }}{{ contains "a" "cab" }}': "bbtrue",
                '{{ (dict "k" "v").k }}': "v",
                '{{ tpl "{{ .one }}" . }}': "1",
                '{{ required "no" .one }}': "1",
            },
            nothing=None,
            one=1,
            map={"b": ["x"], "a": 1},
        )

    def test_named_templates(self):
        source = '{{ define "n" }}[{{ .k }}]{{ end }}{{ include "n" (dict "k" "v") | quote }}'
        self.assertEqual(render(source), '"[v]"')
        self.refuse({
            '{{ include "n" . }}': "no template is called n",
            '{{ define "n" }}{{ include "n" . }}{{ end }}{{ include "n" . }}': "includes itself",
            '{{ define "n" }}{{ end }}{{ define "n" }}{{ end }}': "defined twice",
            '{{ if true }}{{ define "n" }}{{ end }}{{ end }}': "inside something else",
        })

    def test_what_is_wrong_is_an_error_with_its_line(self):
        self.refuse(
            {
                "a\n{{ nosuch 1 }}": "line 2: the function nosuch is not known",
                "{{ .typo }}": "there is no typo",
                "{{ .map.typo }}": "there is no typo",
                "{{ .nothing.x }}": "nothing has a x here",
                "{{ .nothing }}": "not there would be printed",
                "{{ .map }}": "use toYaml",
                "{{ 1000000 }}": "exponent",
                "{{ $x }}": "$x is not declared",
                "{{ $x = 1 }}": "$x is not declared",
                "{{ if true }}": "end }} is missing",
                "{{ end }}": "end ends nothing",
                "{{ else }}": "else ends nothing",
                "{{ 1": "has no }}",
                '{{ "a }}': "has no end",
                "{{ (1 }}": "a ) is missing",
                "{{ 1 ) }}": "not expected",
                "{{ 1 | }}": "empty",
                "{{ }}": "an empty action",
                "{{ a ~ b }}": "cannot read",
                "{{ .map 1 }}": "no function was given arguments",
                "{{ range 3 }}{{ end }}": "range over 3",
                '{{ fail "words" }}': "words",
                '{{ required "words" .nothing }}': "words",
                '{{ eq .nothing "a" }}': "eq cannot compare",
                '{{ eq 1 "a" }}': "eq cannot compare",
                '{{ int64 "8G" }}': "is no number",
                '{{ printf "%v" 1 }}': "printf",
                '{{ printf "%s" }}': "printf",
                '{{ printf "a" 1 }}': "printf",
                '{{ dict "a" }}': "dict takes pairs",
                '{{ trunc 1 }}': "trunc",
                '{{ template "x" }}': "template is not known here",
                '{{ "\\x41" }}': "escape",
            },
            map={"a": 1},
            nothing=None,
        )

    def test_versions(self):
        for version, is_old in (
            ("v1.28.9", True),
            ("v1.28.9-gke.100", True),
            ("v1.29.0-eks-1a2b", False),
            ("v1.29.0", False),
            ("1.30", False),
            ("v1.100.0+k3s1", False),
        ):
            is_before = "true" if is_old else "false"
            self.check({'{{ semverCompare "<1.29-0" .v }}': is_before}, v=version)
            self.check({'{{ not (semverCompare ">=1.29-0" .v) }}': is_before}, v=version)
        self.refuse({
            '{{ semverCompare "^1.2" "1.2.3" }}': "semverCompare does not know",
            '{{ semverCompare "<1.2" "1.2.3" }}': "semverCompare does not know",
            '{{ semverCompare "<1.2-0" "new" }}': "is no version",
        })

    def test_patterns(self):
        self.check({
            '{{ regexMatch "^[a-z]+$" "abc" }}': "true",
            '{{ regexMatch "^[a-z]+$" "aBc" }}': "false",
            '{{ regexMatch "(?m)^b" "a\\nb" }}': "true",
            '{{ lower "A1_b" }}': "a1_b",
        })
        self.refuse({'{{ regexMatch "(?=a)" "a" }}': "regexMatch does not know"})


if __name__ == "__main__":
    unittest.main()
