# SPDX-License-Identifier: Apache-2.0
"""The functions that templates may call: those of Go, Sprig and Helm that our chart uses."""

import hashlib
import json
import re

import yaml

from template_text import TemplateError

# From here on Helm, to which integers of values files are floating point, prints an exponent.
EXPONENT_FROM = 1_000_000


class Dumper(yaml.SafeDumper):
    """Writes every string in one line, and no anchors."""

    def ignore_aliases(self, data):
        return True


def is_true(value):
    """As Go templates see it: nothing, zero and whatever is empty are false."""
    return bool(value)


def to_text(value):
    """What a value is in the output. That of one that is not there is a mistake."""
    if value is None:
        raise TemplateError("a value that is not there would be printed")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        raise TemplateError("a map or list would be printed as Go prints it; use toYaml")
    if isinstance(value, (int, float)) and abs(value) >= EXPONENT_FROM:
        raise TemplateError(f"Helm may print {value} with an exponent; use a string")
    return str(value)


def to_yaml(value):
    text = yaml.dump(value, Dumper=Dumper, default_flow_style=False, width=1_000_000)
    return text.removesuffix("\n").removesuffix("\n...")


def indent(columns, text):
    return "\n".join(" " * columns + line for line in need_text("indent", text).split("\n"))


def need_text(name, value):
    if not isinstance(value, str):
        raise TemplateError(f"{name} takes text, not {type(value).__name__}")
    return value


def quote(value):
    return "" if value is None else json.dumps(to_text(value), ensure_ascii=False)


def required(message, value):
    if value is None or value == "":
        raise TemplateError(message)
    return value


def fail(message):
    raise TemplateError(message)


def make_dict(*pairs):
    if len(pairs) % 2:
        raise TemplateError("dict takes pairs of key and value")
    return dict(zip(pairs[::2], pairs[1::2]))


def printf(form, *arguments):
    """%s, %d and %%."""
    parts = form.split("%")
    text, rest, at = parts[0], list(arguments), 1
    while at < len(parts):
        part = parts[at]
        if part == "" and at + 1 < len(parts):
            text, at = text + "%" + parts[at + 1], at + 2
            continue
        if part[:1] not in ("s", "d") or not rest:
            raise TemplateError(f"printf does not know '%{part[:1]}', or has no argument for it")
        value = rest.pop(0)
        if (part[0] == "s") != isinstance(value, str):
            raise TemplateError(f"printf: '%{part[0]}' does not fit {value!r}")
        text, at = text + str(value) + part[1:], at + 1
    if rest:
        raise TemplateError("printf has more arguments than places for them")
    return text


def equal(first, *others):
    for other in others:
        # Go before 1.18 refuses to compare with nothing.
        if None in (first, other) or isinstance(first, str) != isinstance(other, str):
            raise TemplateError(f"eq cannot compare {first!r} and {other!r}")
    return any(first == other for other in others)


def to_int(value):
    try:
        return int(value)
    except (TypeError, ValueError):
        # Helm makes 0 of it without a word.
        raise TemplateError(f"int64: {value!r} is no number") from None


def index(value, *keys):
    for key in keys:
        value = value[key] if isinstance(value, list) else (value or {}).get(key)
    return value


def kind_is(kind, value):
    kinds = {str: "string", bool: "bool", dict: "map", list: "slice", type(None): "invalid"}
    return kinds.get(type(value), "float64") == kind


def version_order(text):
    """Versions are in order as these are: 1.2.3-x comes before 1.2.3."""
    found = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.(\d+))?(-[\w.-]+)?(\+[\w.-]+)?", text)
    if not found:
        raise TemplateError(f"{text!r} is no version")
    numbers = tuple(int(one or 0) for one in found.group(1, 2, 3))
    return (*numbers, found.group(4) is None, found.group(4) or "")


def semver_compare(constraint, version):
    """<1.2-0 and >=1.2-0: the dash makes those count too that providers have put their names to."""
    found = re.fullmatch(r"(<|>=)([\d.]+-0)", constraint)
    if not found:
        raise TemplateError(f"semverCompare does not know '{constraint}'")
    is_before = version_order(version) < version_order(found.group(2))
    return is_before == (found.group(1) == "<")


def regex_match(pattern, text):
    """Python's where Go's is the same: nothing that only one of them has."""
    if re.search(r"\(\?[^:m]|\\[^.dsw]", pattern):
        raise TemplateError(f"regexMatch does not know '{pattern}'")
    return re.search(pattern, need_text("regexMatch", text), re.ASCII) is not None


FUNCTIONS = {
    "not": lambda value: not is_true(value),
    "eq": equal,
    "ne": lambda first, second: not equal(first, second),
    "gt": lambda first, second: first > second,
    "len": len,
    "index": index,
    "printf": printf,
    "print": lambda *values: "".join(map(to_text, values)),
    "default": lambda fallback, value=None: value if is_true(value) else fallback,
    "empty": lambda value: not is_true(value),
    "required": required,
    "fail": fail,
    # There is no cluster here, and nothing in it.
    "lookup": lambda _version, _kind, _namespace, _name: {},
    "quote": quote,
    "toString": to_text,
    "toYaml": to_yaml,
    "indent": indent,
    "nindent": lambda columns, text: "\n" + indent(columns, text),
    "dict": make_dict,
    "list": lambda *values: list(values),
    "append": lambda values, value: [*values, value],
    "concat": lambda *lists: [value for values in lists for value in values],
    "has": lambda value, values: value in (values or []),
    "hasKey": lambda values, key: key in values,
    "keys": lambda values: list(values),
    "sortAlpha": sorted,
    "without": lambda values, *gone: [value for value in values if value not in gone],
    "join": lambda separator, values: separator.join(map(to_text, values)),
    "kindIs": kind_is,
    "int64": to_int,
    "add": lambda *values: sum(map(to_int, values)),
    "mul": lambda first, second: to_int(first) * to_int(second),
    "trunc": lambda length, text: text[:length],
    "trimSuffix": lambda end, text: need_text("trimSuffix", text).removesuffix(end),
    "trimPrefix": lambda start, text: need_text("trimPrefix", text).removeprefix(start),
    "hasSuffix": lambda end, text: need_text("hasSuffix", text).endswith(end),
    "hasPrefix": lambda start, text: need_text("hasPrefix", text).startswith(start),
    "contains": lambda part, text: part in need_text("contains", text),
    "replace": lambda old, new, text: need_text("replace", text).replace(old, new),
    "lower": lambda text: need_text("lower", text).lower(),
    "semverCompare": semver_compare,
    "regexMatch": regex_match,
    "sha256sum": lambda text: hashlib.sha256(need_text("sha256sum", text).encode()).hexdigest(),
}
