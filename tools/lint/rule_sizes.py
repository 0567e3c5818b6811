# SPDX-License-Identifier: Apache-2.0
"""Files, functions and lines have a largest size. No file is excused by name."""

import ast

import cpp_text
from tree import Finding

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
COLUMNS_MAX = 100

CODE_SUFFIXES = {".h", ".cpp", ".cu", ".py", ".sh", ".cmake"}
# Data and texts that grow with what they describe: tables, compiler output, transcripts, licence.
SIZE_EXEMPT_SUFFIXES = {".def", ".ptx", ".transcript", ".json"}
SIZE_EXEMPT_PATHS = {"LICENSE", "docs/entry_points.md"}


def is_code(file):
    return file.suffix in CODE_SUFFIXES or file.name in ("CMakeLists.txt", "Makefile", "run")


def is_size_exempt(file):
    return (
        file.suffix in SIZE_EXEMPT_SUFFIXES
        or file.path in SIZE_EXEMPT_PATHS
        or "transcript" in file.path
    )


def check_file_lines(tree):
    for file in tree.files:
        lines = file.text.count("\n")
        if lines > FILE_LINES_MAX and not is_size_exempt(file):
            yield Finding(file.path, lines, f"{lines} lines; at most {FILE_LINES_MAX}: split it")


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield cpp_text.Function(node.name, node.lineno, node.end_lineno)


def check_function_lines(tree):
    for file in tree.files:
        if file.is_cpp:
            functions = cpp_text.functions(file.code)
        elif file.suffix == ".py":
            functions = python_functions(file.text)
        else:
            continue
        for function in functions:
            lines = function.last_line - function.first_line + 1
            if lines > FUNCTION_LINES_MAX:
                text = f"{function.name} has {lines} lines; at most {FUNCTION_LINES_MAX}"
                yield Finding(file.path, function.first_line, text)


def check_columns(tree):
    for file in filter(is_code, tree.files):
        for number, line in enumerate(file.lines, 1):
            if len(line) > COLUMNS_MAX:
                yield Finding(file.path, number, f"{len(line)} columns; at most {COLUMNS_MAX}")


def check(tree):
    yield from check_file_lines(tree)
    yield from check_function_lines(tree)
    yield from check_columns(tree)
