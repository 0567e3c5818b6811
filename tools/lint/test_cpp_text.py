# SPDX-License-Identifier: Apache-2.0
"""The C++ heuristics on the shapes that the repository's code takes."""

import unittest

import cpp_text


def functions(text):
    found = cpp_text.functions(cpp_text.strip(text))
    return [(item.name, item.first_line, item.last_line) for item in found]


class StripTest(unittest.TestCase):
    def test_comments_go_and_lines_stay(self):
        self.assertEqual(cpp_text.strip("a /* x\ny */ b\n// c\nd"), "a  \n b\n \nd")

    def test_quoted_text_goes(self):
        self.assertEqual(cpp_text.strip('f("exit(1) // \\" {", \'{\');'), "f(\"\", '');")

    def test_raw_string_goes(self):
        self.assertEqual(cpp_text.strip('x = R"(a " { \n)" + 1;'), 'x = "\n" + 1;')

    def test_separated_digits_are_no_quotes(self):
        self.assertEqual(cpp_text.strip("int x = 1'000'000; f('a');"), "int x = 1'000'000; f('');")


class IncludeTest(unittest.TestCase):
    def test_both_kinds_with_lines(self):
        found = list(cpp_text.includes('#include <a.h>\n\n  # include "b/c.h"\n'))
        self.assertEqual(found, [("a.h", False, 1), ("b/c.h", True, 3)])


class FunctionTest(unittest.TestCase):
    def test_free_function(self):
        self.assertEqual(functions("int f(int a) {\n  if (a) {\n  }\n}\n"), [("f", 1, 4)])

    def test_methods_in_class_in_namespace(self):
        text = "namespace n {\nclass C {\n public:\n  int f() const {\n  }\n  int x_{g(1)};\n};}"
        self.assertEqual(functions(text), [("f", 4, 5)])

    def test_nested_struct_after_access_specifier(self):
        text = "class C {\n private:\n  struct alignas(64) S {\n    void f() {\n    }\n  };\n};"
        self.assertEqual(functions(text), [("f", 4, 5)])

    def test_constructor_with_braces_in_its_list(self):
        text = "C::C(int a) : a_{a}, b_{f(a)} {\n  g();\n  h();\n}\nvoid k() {\n}"
        self.assertEqual(functions(text), [("C::C", 1, 4), ("k", 5, 6)])

    def test_trailing_return_and_noexcept(self):
        text = "auto f() noexcept -> std::pair<int, int> {\n}\n"
        self.assertEqual(functions(text), [("f", 1, 2)])

    def test_table_is_no_function(self):
        self.assertEqual(functions("const Row kRows[] = {\n  {f(1)},\n  {g(2)},\n};\n"), [])

    def test_table_after_template_default(self):
        text = "template <class T = int>\nvoid f(T) {\n}\nbool operator==(A a, A b) {\n}"
        self.assertEqual(functions(text), [("f", 2, 3), ("(unnamed)", 4, 5)])

    def test_global_lambda_counts(self):
        self.assertEqual(functions("const auto f = [](int a) {\n  g();\n};\n")[0][1:], (1, 3))

    def test_extern_c_and_macros(self):
        text = 'extern "C" {\n#define M(a) { \\\n  a\nvoid f() {\n}\n}\nTEST(A, B) {\n}'
        self.assertEqual(functions(text), [("f", 4, 5), ("TEST", 7, 8)])


if __name__ == "__main__":
    unittest.main()
