# SPDX-License-Identifier: Apache-2.0
"""Walks the tree of a template and writes what it says."""

from template_functions import FUNCTIONS, is_true, to_text
from template_parser import Branch, Output, Pipe, parse
from template_text import TemplateError, Text, Token

CONSTANTS = {"true": True, "false": False, "nil": None}
DEPTH_MAX = 50


class Scope:
    """Variables by name; an inner scope sees the outer ones."""

    def __init__(self, outer=None):
        self.outer = outer
        self.names = {}

    def find(self, name):
        scope = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        if scope is None:
            raise TemplateError(f"the variable {name} is not declared")
        return scope

    def get(self, name):
        return self.find(name).names[name]


class Runner:
    """Runs templates that share a set of named ones."""

    def __init__(self, defined):
        self.defined = defined
        self.depth = 0
        self.functions = {**FUNCTIONS, "include": self.include, "tpl": self.tpl}

    def run(self, nodes, dot, name):
        """The text that a tree makes of `dot`."""
        scope = Scope()
        scope.names["$"] = dot
        try:
            return self.nodes(nodes, dot, scope)
        except TemplateError as error:
            if str(error).startswith(name):
                raise
            raise TemplateError(f"{name}: {error}") from None

    def include(self, name, dot):
        if name not in self.defined:
            raise TemplateError(f"no template is called {name}")
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise TemplateError(f"{name} includes itself")
        try:
            return self.run(self.defined[name], dot, name)
        finally:
            self.depth -= 1

    def tpl(self, source, dot):
        return self.run(parse(source, "tpl", dict(self.defined)), dot, "tpl")

    def nodes(self, nodes, dot, scope):
        return "".join(self.node(node, dot, scope) for node in nodes)

    def node(self, node, dot, scope):
        if isinstance(node, Text):
            return node.text
        try:
            if isinstance(node, Output):
                value = self.pipe(node.pipe, dot, scope)
                return "" if node.pipe.variable else to_text(value)
            return self.branch(node, dot, scope)
        except TemplateError as error:
            if str(error).startswith("line "):
                raise
            raise TemplateError(f"line {node.line}: {error}") from None

    def branch(self, node, dot, scope):
        assert isinstance(node, Branch)
        inner = Scope(scope)
        value = self.pipe(node.pipe, dot, inner)
        if not is_true(value):
            return self.nodes(node.otherwise, dot, Scope(scope))
        if node.kind == "range":
            return self.range(node, value, scope)
        return self.nodes(node.body, value if node.kind == "with" else dot, inner)

    def range(self, node, value, scope):
        if isinstance(value, dict):
            items = sorted(value.items())
        elif isinstance(value, list):
            items = list(enumerate(value))
        else:
            raise TemplateError(f"range over {value!r}")
        text = ""
        for key, item in items:
            inner = Scope(scope)
            given = (key, item) if len(node.names) == 2 else (item,)
            inner.names.update(zip(node.names, given))
            text += self.nodes(node.body, item, inner)
        return text

    def pipe(self, pipe, dot, scope):
        value, given = None, ()
        for call in pipe.calls:
            value = self.call(call.terms, given, dot, scope)
            given = (value,)
        if pipe.variable:
            home = scope if pipe.declares else scope.find(pipe.variable)
            home.names[pipe.variable] = value
        return value

    def call(self, terms, given, dot, scope):
        first, *rest = terms
        if isinstance(first, Token) and first.kind == "word" and first.value not in CONSTANTS:
            return self.function(first.value, rest, given, dot, scope)
        value = self.term(first, dot, scope)
        arguments = [self.term(term, dot, scope) for term in rest] + list(given)
        if callable(value):
            return value(*arguments)
        if arguments:
            raise TemplateError("a value that is no function was given arguments")
        return value

    def function(self, name, terms, given, dot, scope):
        if name in ("and", "or"):
            # What follows is not looked at once the answer is known.
            value = None
            for term in [*terms, *(Token("given", one) for one in given)]:
                value = self.term(term, dot, scope)
                if is_true(value) == (name == "or"):
                    return value
            return value
        if name not in self.functions:
            raise TemplateError(f"the function {name} is not known")
        arguments = [self.term(term, dot, scope) for term in terms] + list(given)
        try:
            return self.functions[name](*arguments)
        except (TypeError, AttributeError, KeyError, IndexError) as error:
            raise TemplateError(f"{name}: {error}") from None

    def term(self, term, dot, scope):
        if isinstance(term, Pipe):
            return self.pipe(term, dot, scope)
        if term.kind in ("string", "number", "given"):
            return term.value
        if term.kind == "word":
            if term.value in CONSTANTS:
                return CONSTANTS[term.value]
            return self.function(term.value, (), (), dot, scope)
        if term.kind == ".":
            return dot
        if term.kind == "field":
            return self.fields(dot, term.value)
        if term.kind == "member":
            inner, path = term.value
            return self.fields(self.pipe(inner, dot, scope), path)
        if term.kind == "variable":
            name, _, path = term.value.partition(".")
            return self.fields(scope.get(name), "." + path if path else "")
        raise TemplateError(f"'{term.value}' is not expected")

    @staticmethod
    def fields(value, path):
        for name in path.split(".")[1:]:
            if isinstance(value, dict):
                if name not in value:
                    raise TemplateError(f"there is no {name} in {path}")
                value = value[name]
            elif hasattr(value, f"template_{name}"):
                value = getattr(value, f"template_{name}")
            else:
                raise TemplateError(f"{path}: nothing has a {name} here")
        return value
