# SPDX-License-Identifier: Apache-2.0
"""Go templates as a list of pieces: text as it stands, and the words of each action."""

import re
from typing import NamedTuple


class TemplateError(Exception):
    """Something in a template that Helm would refuse, or that this renderer does not know."""


class Text(NamedTuple):
    """Goes to the output as it is."""

    text: str


class Action(NamedTuple):
    """What stands between {{ and }}, as tokens, and where it begins."""

    tokens: tuple
    line: int


class Token(NamedTuple):
    """kind is string, number, field, variable, word or the sign itself."""

    kind: str
    value: object


TOKENS = re.compile(
    r"""\s*(?:
      (?P<string>"(?:\\.|[^"\\\n])*"|`[^`]*`)
    | (?P<number>-?\d+(?:\.\d+)?(?![\w.]))
    | (?P<variable>\$\w*(?:\.\w+)*)
    | (?P<field>\.\w+(?:\.\w+)*)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<sign>:=|=|\||\(|\)|,|\.)
    )""",
    re.VERBOSE,
)
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def unquote(text):
    if text[0] == "`":
        return text[1:-1]

    def replace(match):
        if match.group(1) not in ESCAPES:
            raise TemplateError(f"the escape \\{match.group(1)} is not known")
        return ESCAPES[match.group(1)]

    return re.sub(r"\\(.)", replace, text[1:-1])


def token_of(kind, text):
    if kind == "string":
        return Token("string", unquote(text))
    if kind == "number":
        return Token("number", float(text) if "." in text else int(text))
    return Token(text, text) if kind == "sign" else Token(kind, text)


def tokens_of(source):
    tokens, at = [], 0
    source = source.rstrip()
    while at < len(source):
        match = TOKENS.match(source, at)
        if not match:
            raise TemplateError(f"cannot read '{source[at:].strip()}'")
        # A field right behind a parenthesis belongs to what the parenthesis gives.
        if match.lastgroup == "field" and tokens and source[at] == "." and tokens[-1].kind == ")":
            tokens.append(Token("of", match.group("field")))
        else:
            tokens.append(token_of(match.lastgroup, match.group(match.lastgroup)))
        at = match.end()
    return tuple(tokens)


def end_of_action(source, start):
    """Where the }} stands that ends the action; strings and comments may hold one of their own."""
    comment = re.compile(r"-?\s*/\*.*?\*/\s*-?(?=\}\})", re.DOTALL).match(source, start)
    at = comment.end() if comment else start
    while not source.startswith("}}", at):
        if at >= len(source):
            raise TemplateError("an action has no }}")
        if source[at] in "\"`":
            string = TOKENS.match(source, at)
            if not string:
                raise TemplateError("a string has no end")
            at = string.end()
        else:
            at += 1
    return at


def pieces_of(source):
    """Text and actions, with the white space gone that {{- and -}} take away."""
    pieces, at, trims_left = [], 0, False
    while True:
        opening = source.find("{{", at)
        text = source[at:] if opening < 0 else source[at:opening]
        if trims_left:
            text = text.lstrip()
        if opening < 0:
            pieces.append(Text(text))
            return [piece for piece in pieces if piece != Text("")]
        end = end_of_action(source, opening + 2)
        inside = source[opening + 2 : end]
        if re.match(r"-\s", inside):
            text, inside = text.rstrip(), inside[1:]
        trims_left = re.search(r"\s-$", inside) is not None
        if trims_left:
            inside = inside[:-1]
        pieces.append(Text(text))
        at = end + 2
        if not inside.strip().startswith("/*"):
            line = source.count("\n", 0, opening) + 1
            pieces.append(Action(tokens_of(inside), line))
