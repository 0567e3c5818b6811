#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the parts of docs/ that are drawn from spec/, or with --verify says which are out of date.

A generated part of a page stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

_STRINGS = r'(?:"(?:\\.|[^"\\])*"\s*)+'
SETTING = re.compile(
    rf"^NVS_SIM_SETTING\(\s*(\w+)\s*,\s*(\w+)\s*,\s*({_STRINGS}|[^,\"]+?)\s*,\s*({_STRINGS})\)",
    re.MULTILINE,
)
DAEMON_SETTING = re.compile(
    r'^NVS_DAEMON_SETTING\((\w+), \w+, "([^"]*)", "([^"]*)"\)', re.MULTILINE
)
ENTRY = re.compile(r"^NVS_(?:CUDA|NVML)_ENTRY\(([^)]*)\)", re.MULTILINE)
HOOK = re.compile(r"^NVS_(CUDA|NVML)_HOOK\((\w+), (\w+), (\w+)\)", re.MULTILINE)
METRIC_LABELS = re.compile(r'^NVS_METRIC_LABELS\((\w+), "([^"]*)"\)', re.MULTILINE)
METRIC = re.compile(r'^NVS_METRIC\((\w+), (\w+), (\w+), "([^"]*)"\)', re.MULTILINE)
MEMORY_KIND = re.compile(r'^NVS_MEMORY_KIND\((\w+), (\w+), "([^"]*)"\)', re.MULTILINE)
DECLARED = re.compile(r"^NVS_(?:CUDA|NVML)_(?:FUNCTION|VARIANT)\(", re.MULTILINE)
WIRE_MESSAGE = re.compile(
    r"((?:^//[^\n]*\n)*)^NVS_MESSAGE\((\w+), (\d+), (\w+)\)\n(.*?)^NVS_MESSAGE_END\(",
    re.MULTILINE | re.DOTALL,
)
WIRE_FIELD = re.compile(r"NVS_(FIELD|TEXT|BYTES)\(([^)]*)\)\s*(?://(.*))?$")
WIRE_SIZES = {"u32": 4, "u64": 8}
HEADER_BYTES = 8
STREAMS = {
    "any": "answered whatever default stream is asked for",
    "legacy": "answered for the legacy default stream alone",
    "per_thread": "answered for the per-thread default stream alone",
    "hidden": "exported, but unknown to `cuGetProcAddress`",
}


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def unquote(text):
    """The text of adjacent C string literals, or text itself."""
    parts = re.findall(r'"((?:\\.|[^"\\])*)"', text)
    return "".join(parts).replace('\\"', '"') if parts else text


def table(head, rows):
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def entries_of(spec):
    """The rows of an entry point file, each a list of its arguments."""
    return [[part.strip() for part in row.split(",")] for row in ENTRY.findall(spec)]


def settings(spec):
    rows = []
    for name, kind, default, text in SETTING.findall(spec):
        shown = unquote(default)
        rows.append((f"`{name}`", kind, f"`{shown}`" if shown else "", unquote(text)))
    return table(("variable", "type", "default", "meaning"), rows)


def daemon_settings(spec):
    rows = [(f"`{name}`", f"`{flag}`", text) for name, flag, text in DAEMON_SETTING.findall(spec)]
    return table(("variable", "flag that counts more", "meaning"), rows)


def version_name(since):
    return f"CUDA {since // 1000}.{since % 1000 // 10}" if since else "the first version"


def cuda_counts(spec, declared):
    entries = entries_of(spec)
    streams = collections.Counter(streams for _, _, _, streams in entries)
    rows = [
        ("exported symbols", len(entries)),
        ("names that `cuGetProcAddress` is asked for", len({name for _, name, _, _ in entries})),
        ("declared with full types", len(DECLARED.findall(declared))),
    ]
    rows += [(f"{kind}: {STREAMS[kind]}", streams[kind]) for kind in STREAMS]
    return table(("CUDA driver", "count"), rows)


def cuda_versions(spec):
    versions = collections.Counter(int(since) for _, _, since, _ in entries_of(spec))
    rows = [(version_name(since), versions[since]) for since in sorted(versions)]
    return table(("a name means the symbol since", "symbols"), rows)


def nvml_counts(spec, declared):
    rows = [
        ("exported symbols", len(entries_of(spec))),
        ("declared with full types", len(DECLARED.findall(declared))),
    ]
    return table(("NVML", "count"), rows)


def hook_groups(hooks, entries):
    """By API, class and action: the symbols, as sets of the variants of each name."""
    names = {symbol: name for symbol, name, *_ in entries_of(entries)}
    groups = collections.defaultdict(lambda: collections.defaultdict(set))
    for api, symbol, kind, action in HOOK.findall(hooks):
        name = names.get(symbol) or re.sub(r"_v\d+$", "", symbol)
        groups[api, kind, action][name].add(symbol)
    return {key: groups[key] for key in sorted(groups)}


def hook_counts(hooks, entries):
    groups = hook_groups(hooks, entries)
    rows = [
        (api, kind, action, len(names), sum(map(len, names.values())))
        for (api, kind, action), names in groups.items()
    ]
    return table(("of", "class", "action", "names", "symbols"), rows)


def hook_names(hooks, entries):
    rows = [
        (kind, action, ", ".join(f"`{name}`" for name in sorted(names)))
        for (_, kind, action), names in hook_groups(hooks, entries).items()
    ]
    return table(("class", "action", "names"), rows)


def memory_kinds(spec):
    rows = [(f"`{name}`", ownership, text) for name, ownership, text in MEMORY_KIND.findall(spec)]
    return table(("kind", "whose", "what it is, and which bytes count"), rows)


def metrics(spec):
    labels = dict(METRIC_LABELS.findall(spec))
    rows = []
    for name, kind, labels_of, text in METRIC.findall(spec):
        shown = ", ".join(f"`{label}`" for label in labels[labels_of].split(",") if label)
        rows.append((f"`{name}`", kind, shown, text))
    return table(("metric", "type", "labels", "meaning"), rows)


def field_rows(lines):
    """Offset, type, name and meaning of each field among these lines, and where they end."""
    offset, rows = HEADER_BYTES, []
    for line in lines:
        found = WIRE_FIELD.match(line)
        if not found:
            continue
        kind, arguments, meaning = found.groups()
        words = [word.strip() for word in arguments.split(",")]
        if kind == "FIELD":
            size, shown, name = WIRE_SIZES[words[1]], words[1], words[2]
        else:
            size, shown, name = int(words[2]), f"{kind.lower()}[{words[2]}]", words[1]
        if name == "zero":
            meaning = "0, so that there are no gaps"
        rows.append((offset, shown, f"`{name}`", (meaning or "").strip()))
        offset += size
    return rows, offset


def wire_messages(spec):
    """A section for each message: its documentation is the comment above it."""
    sections = []
    for comment, name, number, sender, body in WIRE_MESSAGE.findall(spec):
        text = " ".join(line.removeprefix("//").strip() for line in comment.splitlines())
        rows, size = field_rows(body.splitlines())
        head = f"## {name}\n\nType {number}, from the {sender}, {size} bytes. {text}".rstrip()
        sections.append(f"{head}\n\n{table(('at', 'type', 'field', 'meaning'), rows)}")
    return "\n".join(sections)


def wire_summary(spec):
    rows = []
    for comment, name, number, sender, _ in WIRE_MESSAGE.findall(spec):
        text = " ".join(line.removeprefix("//").strip() for line in comment.splitlines())
        first = re.split(r"(?<=[.:?;])\s", text)[0].rstrip(".:;")
        rows.append((number, f"[{name}](protocol_messages.md#{name.lower()})", sender, first))
    return table(("type", "message", "from", "says"), rows)


# Each generated part: the page, the name of the part, how it is made, and from which files.
PARTS = (
    ("docs/daemon.md", "daemon_settings", daemon_settings, ("daemon_settings.def",)),
    ("docs/simulator.md", "settings", settings, ("sim_settings.def",)),
    (
        "docs/entry_points.md",
        "cuda_counts",
        cuda_counts,
        ("cuda_entry_points.def", "cuda_functions.def"),
    ),
    ("docs/entry_points.md", "cuda_versions", cuda_versions, ("cuda_entry_points.def",)),
    (
        "docs/entry_points.md",
        "nvml_counts",
        nvml_counts,
        ("nvml_entry_points.def", "nvml_functions.def"),
    ),
    ("docs/library.md", "memory_kinds", memory_kinds, ("memory_kinds.def",)),
    ("docs/metrics.md", "metrics", metrics, ("metrics.def",)),
    ("docs/protocol.md", "wire_summary", wire_summary, ("wire_messages.def",)),
    ("docs/protocol_messages.md", "wire_messages", wire_messages, ("wire_messages.def",)),
    ("docs/hooks.md", "hook_counts", hook_counts, ("hooks.def", "cuda_entry_points.def")),
    ("docs/hooks.md", "hook_names", hook_names, ("hooks.def", "cuda_entry_points.def")),
)


def replace_part(page, name, text):
    """The page with the named part replaced. A page without the part is an error."""
    pattern = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->\n)", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"no part '{name}'")
    return pattern.sub(lambda match: f"{match[1]}\n{text}\n{match[2]}", page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--verify", action="store_true", help="change nothing, report")
    verify = parser.parse_args().verify
    old = {page: read(page) for page, *_ in PARTS}
    pages = dict(old)
    for page, name, make, sources in PARTS:
        spec = [read(f"spec/{source}") for source in sources]
        pages[page] = replace_part(pages[page], name, make(*spec))
    stale = [page for page in pages if pages[page] != old[page]]
    for page in stale:
        if verify:
            print(f"{page}: out of date, run tools/gen_docs.py")
        else:
            (ROOT / page).write_text(pages[page], encoding="utf-8")
            print(f"{page}: written")
    print(f"gen_docs: {len(pages)} pages, {len(stale)} out of date")
    return 1 if verify and stale else 0


if __name__ == "__main__":
    sys.exit(main())
