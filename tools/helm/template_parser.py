# SPDX-License-Identifier: Apache-2.0
"""Go templates as a tree: what template_run walks."""

from typing import NamedTuple

from template_text import TemplateError, Text, Token, pieces_of


class Call(NamedTuple):
    """One stage of a pipeline: a function with arguments, or one value alone."""

    terms: tuple


class Pipe(NamedTuple):
    """Stages, each given what the one before it made; perhaps kept under a name."""

    calls: tuple
    variable: str = ""
    declares: bool = False


class Output(NamedTuple):
    pipe: Pipe
    line: int


class Branch(NamedTuple):
    """if, with or range."""

    kind: str
    names: tuple  # of range: the variables for key and value
    pipe: Pipe
    body: tuple
    otherwise: tuple
    line: int


class Parser:
    """Reads the pieces of one file; `defined` collects the named templates."""

    def __init__(self, source, name, defined):
        self.name = name
        self.defined = defined
        self.pieces = pieces_of(source)
        self.at = 0
        self.depth = 0

    def parse(self):
        nodes, end = self.block(until=())
        assert end is None
        return nodes

    def block(self, until):
        """Nodes up to an action that begins with one of `until`, and that action."""
        nodes = []
        self.depth += 1
        while self.at < len(self.pieces):
            piece = self.pieces[self.at]
            self.at += 1
            if isinstance(piece, Text):
                nodes.append(piece)
                continue
            word = self.word(piece)
            if word in until:
                self.depth -= 1
                return tuple(nodes), piece
            node = self.node(piece, word)
            if node is not None:
                nodes.append(node)
        if until:
            raise TemplateError(f"{self.name}: an {{{{ end }}}} is missing")
        return tuple(nodes), None

    def word(self, action):
        if not action.tokens:
            raise self.error(action, "an empty action")
        first = action.tokens[0]
        return first.value if first.kind == "word" else ""

    def node(self, action, word):
        if word in ("end", "else"):
            raise self.error(action, f"{word} ends nothing")
        if word == "define":
            return self.define(action)
        if word in ("if", "with", "range"):
            return self.branch(word, action, action.tokens[1:])
        if word in ("template", "block", "break", "continue"):
            raise self.error(action, f"{word} is not known here")
        return Output(self.pipe(action, action.tokens), action.line)

    def define(self, action):
        if len(action.tokens) != 2 or action.tokens[1].kind != "string":
            raise self.error(action, "define takes one name in quotes")
        if self.depth != 1:
            raise self.error(action, "define stands inside something else")
        name = action.tokens[1].value
        if name in self.defined:
            raise self.error(action, f"{name} is defined twice")
        body, _ = self.block(until=("end",))
        self.defined[name] = body

    def branch(self, kind, action, tokens):
        names = ()
        if kind == "range":
            names, tokens = self.range_names(tokens)
        pipe = self.pipe(action, tokens)
        body, end = self.block(until=("end", "else"))
        otherwise = ()
        if self.word(end) == "else" and len(end.tokens) > 1:
            second = end.tokens[1]
            if second.kind != "word" or second.value not in ("if", "with"):
                raise self.error(end, "else takes nothing, or if")
            otherwise = (self.branch(second.value, end, end.tokens[2:]),)
        elif self.word(end) == "else":
            otherwise, _ = self.block(until=("end",))
        return Branch(kind, names, pipe, body, otherwise, action.line)

    @staticmethod
    def range_names(tokens):
        kinds = [token.kind for token in tokens]
        if ":=" not in kinds:
            return (), tokens
        at = kinds.index(":=")
        names = tuple(token.value for token in tokens[:at] if token.kind == "variable")
        return names, tokens[at + 1 :]

    def pipe(self, action, tokens):
        if not tokens:
            raise self.error(action, "something is missing")
        variable, declares = "", False
        if len(tokens) > 2 and tokens[0].kind == "variable" and tokens[1].kind in (":=", "="):
            variable, declares = tokens[0].value, tokens[1].kind == ":="
            tokens = tokens[2:]
        reader = TermReader(self, action, list(tokens))
        calls = reader.calls()
        if reader.tokens:
            raise self.error(action, f"'{reader.tokens[0].value}' is not expected")
        return Pipe(calls, variable, declares)

    def error(self, action, text):
        return TemplateError(f"{self.name}:{action.line}: {text}")


class TermReader:
    """Reads the stages of a pipeline, and what stands in parentheses as a pipeline of its own."""

    def __init__(self, parser, action, tokens):
        self.parser = parser
        self.action = action
        self.tokens = tokens

    def calls(self):
        calls = [self.call()]
        while self.tokens and self.tokens[0].kind == "|":
            self.tokens.pop(0)
            calls.append(self.call())
        return tuple(calls)

    def call(self):
        terms = []
        while self.tokens and self.tokens[0].kind not in ("|", ")"):
            terms.append(self.term())
        if not terms:
            raise self.parser.error(self.action, "a stage of the pipeline is empty")
        return Call(tuple(terms))

    def term(self):
        token = self.tokens.pop(0)
        if token.kind in (":=", "=", ","):
            raise self.parser.error(self.action, f"'{token.value}' is not expected")
        if token.kind != "(":
            return token
        inner = Pipe(self.calls())
        if not self.tokens or self.tokens.pop(0).kind != ")":
            raise self.parser.error(self.action, "a ) is missing")
        if self.tokens and self.tokens[0].kind == "of":
            return Token("member", (inner, self.tokens.pop(0).value))
        return inner


def parse(source, name, defined):
    """The tree of one file. Named templates in it go to `defined`."""
    return Parser(source, name, defined).parse()
