# SPDX-License-Identifier: Apache-2.0
"""JSON Schema, as much of it as values.schema.json uses. A word that is not known is an error, so
that no rule of the schema is passed over."""

import re

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}
KNOWN = {
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "items",
    "properties",
    "required",
    "additionalProperties",
}


def is_of(value, kind):
    if kind != "boolean" and isinstance(value, bool):
        return False
    return isinstance(value, TYPES[kind])


def problems(value, schema, path="", root=None):
    """Sentences on what is wrong with a value."""
    root = root or schema
    unknown = set(schema) - KNOWN
    if unknown:
        yield f"the schema says {', '.join(sorted(unknown))}, which is not known here"
    if "$ref" in schema:
        target = root
        for name in schema["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        yield from problems(value, target, path, root)
        return
    where = path or "values"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_of(value, kind) for kind in kinds):
        yield f"{where} is {value!r}, and should be of type {' or '.join(kinds)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value!r}, and should be one of {schema['enum']}"
    yield from simple_problems(value, schema, where)
    if isinstance(value, dict):
        yield from object_problems(value, schema, path, root)
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from problems(item, schema["items"], f"{path}[{number}]", root)


def simple_problems(value, schema, where):
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{where} is {value!r}, which is not of the form {schema['pattern']}"
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            yield f"{where} is too short or too long"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            yield f"{where} is {value}, which is out of range"


def object_problems(value, schema, path, root):
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            yield f"{path or 'values'} has no {name}"
    for name, item in value.items():
        inner = f"{path}.{name}" if path else name
        if name in properties:
            yield from problems(item, properties[name], inner, root)
        elif schema.get("additionalProperties") is False:
            yield f"{inner} is not known"
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from problems(item, schema["additionalProperties"], inner, root)
