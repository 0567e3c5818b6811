# SPDX-License-Identifier: Apache-2.0
"""Just enough understanding of C++ text for the rules: comments, quotes, and where functions are.

It is a heuristic over formatted code, not a parser; the rules that need more belong to clang-tidy.
"""

import re
from typing import NamedTuple

# Comments, raw strings, strings and characters, in the order in which they must be tried. A quote
# between digits separates thousands and opens nothing.
_TOKEN = re.compile(
    r"""
    //(?:\\\n|[^\n])*
  | /\*.*?\*/
  | \bu?8?[LU]?R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"
  | "(?:\\.|[^"\\\n])*"
  | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'
    """,
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?P<name>"[^"\n]+"|<[^>\n]+>)', re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_TEMPLATE = re.compile(r"\btemplate\s*<")
_ACCESS = re.compile(r"^\s*(?:public|private|protected)\s*:(?!:)")
_SCOPE = re.compile(r"^\s*(?:inline\s+)?(?:namespace|class|struct|union|enum|extern\s*\"\")")
_CONSTRUCTOR_LIST = re.compile(r"\)\s*(?:noexcept\s*(?:\([^()]*\))?)?\s*:(?!:)")


class Function(NamedTuple):
    name: str
    first_line: int
    last_line: int


class Include(NamedTuple):
    name: str
    quoted: bool
    line: int


def _blank(text):
    """As many lines as text has, and nothing on them."""
    return "\n" * text.count("\n")


def _strip_token(match):
    token = match.group()
    if token.startswith(("//", "/*")):
        return " " + _blank(token)
    quote = token[-1]
    return quote + _blank(token) + quote


def strip(text):
    return _TOKEN.sub(_strip_token, text)


def includes(text):
    for match in _INCLUDE.finditer(text):
        name = match.group("name")
        yield Include(name[1:-1], name[0] == '"', text.count("\n", 0, match.start()) + 1)


def _without_templates(head):
    """The head of a declaration without `template <...>`, whose defaults look like initialisers."""
    while match := _TEMPLATE.search(head):
        depth, end = 1, match.end()
        while end < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[end], 0)
            end += 1
        head = head[: match.start()] + head[end:]
    return head


def _opens(head):
    """What a brace outside of functions opens, told by the text before it: `scope` (a namespace or
    a class), `values` (an initialiser), or `function`."""
    head = _ACCESS.sub("", head)
    head = re.sub(r"\boperator\s*[^\w\s(]+", "operator", _without_templates(head))
    if _SCOPE.match(head):
        return "scope"
    before_call, call, _ = head.partition("(")
    if not call:
        return "scope" if not head.strip() else "values"
    if "=" in before_call and not re.search(r"\]\s*(?:\([^()]*\)[^()]*)?$", head):
        return "values"
    constructor = _CONSTRUCTOR_LIST.search(head)
    if constructor and re.search(r"[\w>]$", head.rstrip()):
        return "values"
    return "function"


def _close_of(code, start):
    """The position after the brace that closes the one at start."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, start):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.end()
    return len(code)


def functions(code):
    """Every function with a body in stripped code, in order. A lambda belongs to the function
    around it."""
    code = _DIRECTIVE.sub(lambda match: _blank(match.group()), code)
    position, head_start = 0, 0
    while match := re.compile(r"[{};]").search(code, position):
        position = match.end()
        if match.group() != "{":
            head_start = position
            continue
        head = code[head_start : match.start()]
        kind = _opens(head)
        if kind == "scope":
            head_start = position
            continue
        position = _close_of(code, match.start())
        if kind == "function":
            names = re.findall(r"[\w:~]+(?=\s*\()", _without_templates(head))
            first_line = code.count("\n", 0, match.start()) + 1
            last_line = code.count("\n", 0, position - 1) + 1
            yield Function(names[0] if names else "(unnamed)", first_line, last_line)
            head_start = position
