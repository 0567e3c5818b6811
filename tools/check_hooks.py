#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that no entry point of the CUDA driver slips past spec/hooks.def.

The table is held against the other files of spec/: a row for each symbol and no other, classes and
actions that go together, one class for all variants of a name, and nothing that looks like
submitting work or allocating left alone without a reason. Where NVIDIA's cuda.h is found (looked
for as check_cuda_headers.py does), each function that it declares must have a row: a new CUDA
version cannot add a launch in silence. Exit status: 0 complete, 1 not.
"""

import argparse
import collections
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile

import check_cuda_headers

SPEC = pathlib.Path(__file__).resolve().parents[1] / "spec"
API = check_cuda_headers.APIS["cuda"]

# The actions that a class can have. What submits passes the gate; a symbol whose type we do not
# declare cannot, and jumps. So does what names memory that the driver looks at.
ACTIONS = {
    "submit": {"gate", "jump"},
    "alloc": {"own", "jump"},
    "free": {"own", "jump"},
    "query": {"own", "jump"},
    "event": {"own"},
    "names_memory": {"gate", "own", "jump"},
    "capture": {"own", "jump"},
    "context": {"own", "jump"},
    "share": {"own", "jump"},
    "lookup": {"own"},
    "pass": {"none"},
}
# These are compiled from our declaration of the function.
TYPED_ACTIONS = {"gate", "own"}

SUBMITS_BY_NAME = re.compile(
    r"Async(_|$)|Launch|Memcpy|Memset|Prefetch|Discard|Decompress|BatchMemOp|WaitValue|WriteValue"
    r"|AddCallback|GraphUpload|[Mm]apResources|[Mm]apBufferObject"
    r"|(Acquire|Release|Present|Return)Frame"
)
ALLOCATES_BY_NAME = re.compile(
    r"Alloc(?!ation)|MemCreate|ArrayCreate|PoolCreate|MulticastCreate|Reserve|MemMap(?!Flags)"
    r"|Import|OpenMemHandle|(Module|Library|Func)Load(Data|FatBinary|FromFile|_|Ex|$)"
)
SUBMITS_BY_PARAMETER = re.compile(
    r"\bCUstream(?! *\*)\b|\b(CUlaunchConfig|CUDA_LAUNCH_PARAMS|CUDA_GRAPH_INSTANTIATE_PARAMS)\b"
)
ALLOCATES_BY_PARAMETER = re.compile(
    r"(?<!const )\b(CUdeviceptr(?:_v1)?|CUarray|CUmipmappedArray|CUmemGenericAllocationHandle"
    r"|CUmemoryPool|CUexternalMemory) *\*"
)
# A stream that is only asked about gets no work.
ASKS = re.compile(r"^cu\w*?(Get|Query|Is)([A-Z_]|$)")

# Names that look like submitting or allocating, and are left alone all the same.
LEFT_ALONE = {
    "cuArrayGetPlane": "a view of an array that is counted",
    "cuFuncLoad": "code, which the driver keeps and never moves",
    "cuLibraryGetGlobal": "where a library's own data is, which never moves",
    "cuLibraryGetManaged": "where a library's own data is, which never moves",
    "cuLibraryLoadData": "code, which the driver keeps and never moves",
    "cuLibraryLoadFromFile": "code, which the driver keeps and never moves",
    "cuMemAllocHost": "memory of the host",
    "cuMemHostAlloc": "memory of the host",
    "cuMemHostGetDevicePointer": "memory of the host",
    "cuMipmappedArrayGetLevel": "a view of an array that is counted",
    "cuModuleGetGlobal": "where a module's own data is, which never moves",
    "cuModuleLoad": "code, which the driver keeps and never moves",
    "cuModuleLoadData": "code, which the driver keeps and never moves",
    "cuModuleLoadDataEx": "code, which the driver keeps and never moves",
    "cuModuleLoadFatBinary": "code, which the driver keeps and never moves",
    "cuOccupancyMaxActiveClusters": "arithmetic on a launch that is not made",
    "cuOccupancyMaxPotentialClusterSize": "arithmetic on a launch that is not made",
    "cuStreamCopyAttributes": "settings of a stream, no work",
    "cuStreamWaitEvent": "an order between streams, no work",
}

# What submits and has a hook of our own, which passes the gate itself.
GATED_BY_HAND = {
    "cuGraphInstantiateWithParams",
    "cuGraphInstantiateWithParams_ptsz",
    "cuMemMapArrayAsync",
    "cuMemMapArrayAsync_ptsz",
}

# Headers of the toolkit that declare further entry points, and what they include of others.
INTEROP = ("cudaGL.h", "cudaEGL.h", "cudaVDPAU.h")
FOREIGN = ("GL/gl.h", "EGL/egl.h", "EGL/eglext.h", "vdpau/vdpau.h")
# Declared by the headers of CUDA 13.0, but no symbol of the driver that the rows were read off.
NOT_EXPORTED = {"cuEventCreateFromEGLSync"}
# Together these declare each symbol under its exported name: all that the header knows to have been
# renamed, then what a program gets that is compiled for either kind of default stream.
VIEWS = (API.defines, (), ("CUDA_API_PER_THREAD_DEFAULT_STREAM",))


@dataclasses.dataclass
class Tables:
    """The files of spec/ that this is about, read."""

    cuda: list[tuple[str, str, str]]  # symbol, class, action
    nvml: list[tuple[str, str, str]]
    names: dict[str, str]  # of each exported symbol, what cuGetProcAddress calls it
    parameters: dict[str, str]  # of the symbols whose type we declare
    nvml_symbols: set[str]
    nvml_typed: set[str]


def calls(text, macro):
    """The arguments of each call of a macro in a .def file, in order; a call may span lines."""
    for found in re.finditer(rf"^{macro}\(([^()]*(?:\([^()]*\)[^()]*)*)\)", text, re.M):
        yield " ".join(found[1].split())


def columns(text, macro):
    return [tuple(part.strip() for part in call.split(",")) for call in calls(text, macro)]


def parameters_of(text):
    parameters = {}
    for call in calls(text, "NVS_CUDA_FUNCTION"):
        symbol, _, rest = call.partition(",")
        parameters[symbol] = rest.strip()
    for variant, base in columns(text, "NVS_CUDA_VARIANT"):
        parameters[variant] = parameters[base]
    return parameters


def read_tables(folder=SPEC):
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.def")}
    hooks = texts["hooks.def"]
    entries = columns(texts["cuda_entry_points.def"], "NVS_CUDA_ENTRY")
    nvml_functions = columns(texts["nvml_functions.def"], "NVS_NVML_FUNCTION")
    return Tables(
        cuda=columns(hooks, "NVS_CUDA_HOOK"),
        nvml=columns(hooks, "NVS_NVML_HOOK"),
        names={symbol: name for symbol, name, *_ in entries},
        parameters=parameters_of(texts["cuda_functions.def"]),
        nvml_symbols={row[0] for row in columns(texts["nvml_entry_points.def"], "NVS_NVML_ENTRY")},
        nvml_typed={symbol for _, symbol, *_ in nvml_functions},
    )


def looks(symbol, parameters):
    """Why a function seems to submit work or to allocate; empty if it does not."""
    reasons = []
    asks = ASKS.search(symbol)
    found = SUBMITS_BY_NAME.search(symbol)
    if found:
        reasons.append(f"submits work: '{found[0].strip('_')}' is in its name")
    found = SUBMITS_BY_PARAMETER.search(parameters)
    if found and not asks:
        reasons.append(f"submits work: it takes a {found[0]}")
    found = ALLOCATES_BY_NAME.search(symbol)
    if found:
        reasons.append(f"allocates: '{found[0].strip('_')}' is in its name")
    found = ALLOCATES_BY_PARAMETER.search(parameters)
    if found:
        reasons.append(f"allocates: it gives back a {found[1]}")
    return reasons


def actions_of(symbol, kind):
    return {"own"} if symbol in GATED_BY_HAND else ACTIONS[kind]


def check_rows(rows, known, typed):
    """What is wrong with single rows, and with their order."""
    symbols = [symbol for symbol, *_ in rows]
    for before, after in zip(symbols, symbols[1:]):
        if before == after:
            yield f"{after}: two rows"
        elif before.encode() > after.encode():
            yield f"{after}: stands after {before}; the rows are sorted as strcmp does"
    for symbol, kind, action in rows:
        if symbol not in known:
            yield f"{symbol}: not among the entry points"
        elif kind not in ACTIONS:
            yield f"{symbol}: there is no class {kind}"
        elif action not in actions_of(symbol, kind):
            yield f"{symbol}: action {action} does not go with class {kind}"
        elif action in TYPED_ACTIONS and symbol not in typed:
            yield f"{symbol}: action {action} needs its type, which spec/ does not have"
        elif kind == "submit" and action == "jump" and symbol in typed:
            yield f"{symbol}: submits and its type is known, but it does not pass the gate"


def check_variants(rows, name_of):
    """Variants of one function differ in their ABI alone: what is done for one is done for all."""
    families = collections.defaultdict(set)
    for symbol, kind, action in rows:
        families[name_of(symbol)].add(f"{kind}/{action}")
    for name, kinds in families.items():
        if len(kinds) > 1:
            yield f"{name}: its variants differ: {', '.join(sorted(kinds))}"


def check_cuda(tables):
    yield from check_rows(tables.cuda, tables.names, tables.parameters)
    yield from check_variants(tables.cuda, lambda symbol: tables.names.get(symbol, symbol))
    hooked = {symbol for symbol, *_ in tables.cuda}
    for symbol in tables.names:
        if symbol not in hooked:
            yield f"{symbol}: an entry point without a row"


def check_left_alone(tables):
    """LEFT_ALONE names exactly the pass rows that look like more."""
    used = set()
    for symbol, kind, _ in tables.cuda:
        reasons = looks(symbol, tables.parameters.get(symbol, ""))
        if kind != "pass" or not reasons:
            continue
        name = tables.names.get(symbol, symbol)
        used.add(name)
        if name not in LEFT_ALONE:
            yield f"{symbol}: of class pass, but it looks like one that {'; '.join(reasons)}"
    for name in sorted(set(LEFT_ALONE) - used):
        yield f"{name}: in LEFT_ALONE for nothing"


def check_nvml(tables):
    yield from check_rows(tables.nvml, tables.nvml_symbols, tables.nvml_typed)

    def name_of(symbol):
        return re.sub(r"_v\d+$", "", symbol)

    yield from check_variants(tables.nvml, name_of)
    hooked = {symbol for symbol, *_ in tables.nvml}
    names = {name_of(symbol) for symbol in hooked}
    for symbol in sorted(tables.nvml_symbols - hooked):
        if name_of(symbol) in names:
            yield f"{symbol}: no row, but another version of it has one"


def declared_in(text):
    """The functions of a preprocessed header, each with its parameters."""
    found = re.findall(r"\bCUresult\s+(cu\w+)\s*\(([^;{]*?)\)\s*;", text)
    return {symbol: " ".join(parameters.split()) for symbol, parameters in found}


def header_functions(header, compiler):
    """Every function that cuda.h and its companions in the same folder declare."""
    companions = (header.parent / name for name in (*API.extras, *INTEROP))
    files = [header, *(path for path in companions if path.is_file())]
    source = "".join(f'#include "{path}"\n' for path in files)
    functions = {}
    with tempfile.TemporaryDirectory() as empty:
        for name in FOREIGN:
            path = pathlib.Path(empty, name)
            path.parent.mkdir(exist_ok=True)
            path.touch()
        command = [compiler, "-x", "c++", "-w", "-E", "-P", f"-I{header.parent}"]
        command += ["-idirafter", empty, "-"]
        for defines in VIEWS:
            arguments = [*command, *(f"-D{name}" for name in defines)]
            output = subprocess.run(
                arguments, input=source, text=True, check=True, stdout=subprocess.PIPE
            ).stdout
            functions |= declared_in(output)
    return functions


def check_header(functions, tables):
    known = {symbol for symbol, *_ in tables.cuda}
    for symbol in sorted(set(functions) - known - NOT_EXPORTED):
        reasons = looks(symbol, functions[symbol])
        guess = f"looks like one that {'; '.join(reasons)}" if reasons else "looks harmless"
        yield f"{symbol}: declared by NVIDIA's header, without a row; {guess}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--compiler", default="c++")
    compiler = parser.parse_args().compiler
    tables = read_tables()
    wrong = [*check_cuda(tables), *check_left_alone(tables), *check_nvml(tables)]
    print(f"spec/hooks.def: {len(tables.cuda)} CUDA rows, {len(tables.nvml)} NVML rows")
    header = check_cuda_headers.find_header(API)
    if header is None:
        print(f"there is no {API.header} on this machine: the rows are not held against one")
    else:
        functions = header_functions(header, compiler)
        version = check_cuda_headers.header_version(header, API)
        print(f"{header}, {API.version_macro} {version}: {len(functions)} functions")
        if not functions:
            wrong.append(f"{header}: no function could be read")
        wrong += check_header(functions, tables)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
