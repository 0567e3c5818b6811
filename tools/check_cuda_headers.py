#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds our declarations of the CUDA driver API (or NVML) against NVIDIA's header.

One program is generated that prints facts: values of enumerators and constants, sizes and offsets
of members, types of functions. It is compiled twice, with our headers and with NVIDIA's, and the
two outputs must be equal. The names to print come from our headers; names that only one side has
are found by reading both. Exit status: 0 equal, 1 different, 77 nothing to compare with.

The header is looked for in $NVS_CUDA_HEADER or $NVS_NVML_HEADER (a file), then in the include
folder of $CUDA_HOME, /usr/local/cuda and /usr.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass
class Api:
    """What differs between the two APIs that can be checked."""

    header: str  # NVIDIA's file
    override: str  # the environment variable that names it
    ours: str
    version_macro: str
    version: int  # what our declarations describe
    entry_row: str
    entries: str
    complete: bool  # do our declarations leave nothing out?
    defines: tuple[str, ...]  # make the header declare every symbol under its exported name
    extras: tuple[str, ...] = ()  # further headers of the same toolkit


APIS = {
    "cuda": Api(
        header="cuda.h", override="NVS_CUDA_HEADER", ours="cuda_api/cuda.h",
        version_macro="CUDA_VERSION", version=13000, entry_row="NVS_CUDA_ENTRY",
        entries="spec/cuda_entry_points.def", complete=True,
        defines=("__CUDA_API_VERSION_INTERNAL", "__CUDA_API_VERSION_INTERNAL_ODR"),
        extras=("cudaProfiler.h",)),
    "nvml": Api(
        header="nvml.h", override="NVS_NVML_HEADER", ours="cuda_api/nvml.h",
        version_macro="NVML_API_VERSION", version=13, entry_row="NVS_NVML_ENTRY",
        entries="spec/nvml_entry_points.def", complete=False,
        defines=("NVML_NO_UNVERSIONED_FUNC_DEFS",)),
}

NAME = r"(?:cu|CU|nvml|NVML|cl_|NVCL|CIG)\w+"


@dataclasses.dataclass
class Declarations:
    enums: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    structs: dict[str, list[str]] = dataclasses.field(default_factory=dict)  # member paths
    typedefs: set[str] = dataclasses.field(default_factory=set)
    functions: set[str] = dataclasses.field(default_factory=set)
    constants: set[str] = dataclasses.field(default_factory=set)


class Side:
    """One of the two headers: how to include it, and what it declares."""

    def __init__(self, compiler, includes, folders, defines, own_file):
        self.prologue = "".join(f'#include "{name}"\n' for name in includes)
        self.command = [compiler, "-x", "c++", "-std=gnu++20", "-w",
                        *[f"-I{folder}" for folder in folders],
                        *[f"-D{name}" for name in defines]]
        text = self.run(["-E", "-"], self.prologue)
        self.declared = parse("".join(lines_of(text, own_file)))
        for line in self.run(["-E", "-dM", "-"], self.prologue).splitlines():
            macro = re.match(rf"#define ({NAME}) \S", line)
            if macro:
                self.declared.constants.add(macro[1])

    def run(self, arguments, source):
        return subprocess.run([*self.command, *arguments], input=source, text=True, check=True,
                              stdout=subprocess.PIPE).stdout

    def facts(self, source):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "facts"
            self.run(["-o", str(program), "-"], self.prologue + source)
            output = subprocess.run([program], text=True, check=True, stdout=subprocess.PIPE)
        return dict(line.rsplit(" = ", 1) for line in output.stdout.splitlines())


def lines_of(preprocessed, own_file):
    """The lines that come from the files of interest, and not from the C++ library."""
    wanted = False
    for line in preprocessed.splitlines(keepends=True):
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            wanted = own_file(marker[1])
        elif wanted and not line.startswith("#"):
            yield line


def statements(text):
    """Splits at semicolons outside of braces, and at the brace that ends an extern "C" block."""
    depth = start = 0
    for position, character in enumerate(text):
        if character == "{":
            depth += 1
        elif character == "}" and depth > 0:
            depth -= 1
        elif character in ";}" and depth == 0:
            yield " ".join(text[start:position].split())
            start = position + 1


def declarators(text):
    """`int a, b[3]` or `const void* p` -> the names."""
    for part in text.split(","):
        name = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", part.strip())
        if name:
            yield name[1]


def member_paths(body):
    for member in statements(body):
        nested = re.fullmatch(r"(?:struct|union)\s*\w*\s*\{(.*)\}\s*(\w*)", member)
        if nested is None:
            yield from declarators(member)
            continue
        inner, name = list(member_paths(nested[1])), nested[2]
        if name:
            yield name
        yield from (f"{name}.{path}" if name else path for path in inner)


def parse(text):
    """Reads the C subset that these headers are written in. Unknown statements stop the check."""
    found = Declarations()
    text = re.sub(r"__attribute__\s*\(\([^()]*(?:\([^()]*\))?\)\)", " ", text)
    text = re.sub(r'extern "C"\s*\{|namespace nvs \{.*?\}\s*\}', " ", text, flags=re.S)
    for statement in statements(text):
        parse_statement(statement, found)
    return found


def parse_statement(statement, found):
    enum = re.fullmatch(r"typedef enum\s*\w*\s*(?::\s*[\w ]+)?\{(.*)\}\s*([\w, ]+)", statement)
    struct = re.fullmatch(r"typedef (?:struct|union)\s*\w*\s*\{(.*)\}\s*([\w, ]+)", statement)
    function = re.fullmatch(
        rf"(?:CUresult|nvmlReturn_t|const char\s*\*) ?({NAME}) ?\(.*\)", statement)
    variant = re.fullmatch(rf"decltype\({NAME}\) ({NAME})", statement)
    constant = re.match(rf"inline constexpr [\w ]+ ({NAME}) =", statement)
    pointer = re.fullmatch(r"typedef .*\(\s*\*\s*(\w+)\s*\)\s*\(.*\)", statement)
    if enum:
        names = [item.split("=")[0].strip() for item in enum[1].split(",")]
        aliases = list(declarators(enum[2]))
        found.enums[aliases[0]] = [name for name in names if name]
        found.typedefs.update(aliases)
    elif struct:
        aliases = list(declarators(struct[2]))
        found.structs[aliases[0]] = list(member_paths(struct[1]))
        found.typedefs.update(aliases)
    elif function or variant:
        found.functions.add((function or variant)[1])
    elif constant:
        found.constants.add(constant[1])
    elif pointer:
        found.typedefs.add(pointer[1])
    elif statement.startswith("typedef "):
        found.typedefs.update(declarators(statement))
    elif statement and not re.fullmatch(r"struct \w+", statement):
        raise SystemExit(f"cannot read this declaration: {statement}")


PRELUDE = """
#include <cstddef>
#include <cstdio>
#include <typeinfo>
template <class T> long long number(T value) { return (long long)value; }
#define ENUM(e) std::printf("%s = %lld\\n", #e, number(e));
#define TYPE(t) std::printf("type %s = %s\\n", #t, typeid(t).name());
#define SIZE(t) std::printf("size of %s = %zu, align %zu\\n", #t, sizeof(t), alignof(t));
#define MEMBER(t, m) std::printf("%s.%s = offset %zu, %zu bytes\\n", #t, #m, offsetof(t, m), \\
                                 sizeof(((t*)nullptr)->m));
#define LEAF(t, m) std::printf("type of %s.%s = %s\\n", #t, #m, \\
                               typeid(decltype(((t*)nullptr)->m)).name());
#define FUNCTION(f) std::printf("function %s = %s\\n", #f, typeid(decltype(f)).name());
"""


def facts_program(ours, theirs):
    """Asks for everything that we declare and that the other side knows by the same name."""
    body = []
    for name, enumerators in ours.enums.items():
        known = set(theirs.enums.get(name, ()))
        body += [f"ENUM({e})" for e in enumerators if e in known]
    body += [f"ENUM({name})" for name in sorted(ours.constants & theirs.constants)]
    for name, members in ours.structs.items():
        known = set(theirs.structs.get(name, ()))
        for member in members:
            if member in known:
                body.append(f"MEMBER({name}, {member})")
                if not any(other.startswith(member + ".") for other in members):
                    body.append(f"LEAF({name}, {member})")
        if name in theirs.typedefs:
            body.append(f"SIZE({name})")
    body += [f"TYPE({name})" for name in sorted(ours.typedefs & theirs.typedefs)]
    body += [f"FUNCTION({name})" for name in sorted(ours.functions & theirs.functions)]
    return PRELUDE + "int main() {\n" + "\n".join(body) + "\n}\n"


def one_sided(ours, theirs, both_ways):
    """Names that the other side lacks; what NVIDIA alone has counts if ours claims to be whole."""
    directions = [("not in NVIDIA's header", ours, theirs)]
    if both_ways:
        directions.append(("not declared by us", theirs, ours))
    for what, here, there in directions:
        for kind in ("typedefs", "functions", "constants"):
            for name in sorted(getattr(here, kind) - getattr(there, kind) - IGNORED):
                yield f"{name}: {what}"
        for kind in ("enums", "structs"):
            for name, members in getattr(here, kind).items():
                missing = set(members) - set(getattr(there, kind).get(name, members))
                yield from (f"{name}: {member} is {what}" for member in sorted(missing))


# Macros of NVIDIA's header that are no part of the API.
IGNORED = {"CU_UUID_HAS_BEEN_DEFINED", "CUDA_CB", "CUDAAPI", "CU_LAUNCH_PARAM_END_AS_INT",
           "CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT", "CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT"}


# These functions are declared by headers that include OpenGL's and VDPAU's.
INTEROP = ("cuGL", "cuVDPAU")


def find_header(api):
    named = os.environ.get(api.override)
    if named:
        if not pathlib.Path(named).is_file():
            raise SystemExit(f"${api.override} names {named}, which is not a file")
        return pathlib.Path(named)
    homes = [os.environ.get("CUDA_HOME"), "/usr/local/cuda", "/usr"]
    for home in filter(None, homes):
        candidate = pathlib.Path(home) / "include" / api.header
        if candidate.is_file():
            return candidate
    return None


def header_version(header, api):
    match = re.search(rf"#define\s+{api.version_macro}\s+(\d+)", header.read_text(errors="replace"))
    return int(match[1]) if match else 0


def entry_points(api):
    return set(re.findall(rf"^{api.entry_row}\((\w+)", (ROOT / api.entries).read_text(), re.M))


def differences(api, header, compiler):
    extras = [name for name in api.extras if (header.parent / name).is_file()]
    files = [str(header), *[str(header.parent / name) for name in extras]]
    theirs = Side(compiler, files, [header.parent], api.defines, lambda file: file in files)
    ours = Side(compiler, [api.ours], [ROOT / "src", ROOT], [],
                lambda file: file.startswith((str(ROOT / "src"), str(ROOT / "spec"))))
    mine, other = ours.declared, theirs.declared
    mine.functions = {name for name in mine.functions if not name.startswith(INTEROP)}
    if len(extras) < len(api.extras):
        mine.functions = {name for name in mine.functions if not name.startswith("cuProfiler")}
        mine.typedefs.discard("CUoutput_mode")
    for name in sorted(other.functions - entry_points(api)):
        yield f"{name}: an entry point that {api.entries} does not know"
    same_version = header_version(header, api) == api.version
    yield from one_sided(mine, other, api.complete and same_version)
    program = facts_program(mine, other)
    here, there = ours.facts(program), theirs.facts(program)
    for fact, value in here.items():
        if value != there[fact]:
            yield f"{fact}: we say {value}, NVIDIA says {there[fact]}"
    print(f"{len(here)} facts compared: {len(mine.functions & other.functions)} functions, "
          f"{len(mine.structs)} structs, {len(mine.enums)} enums")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("api", choices=APIS)
    parser.add_argument("--compiler", default="c++")
    arguments = parser.parse_args()
    api = APIS[arguments.api]
    header = find_header(api)
    if header is None:
        print(f"skipped: there is no {api.header} on this machine")
        return SKIPPED
    version = header_version(header, api)
    if version < api.version:
        print(f"skipped: {header} is of version {version}, our declarations are of {api.version}")
        return SKIPPED
    print(f"{header}, {api.version_macro} {version}")
    wrong = list(differences(api, header, arguments.compiler))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
