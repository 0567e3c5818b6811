#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that a library is pure: no input or output, clock, environment, threads or locks.

What it asks of the outside is in its undefined symbols: its own, the parts of the C++ library that
compute, and libc's memory functions are fine, and nothing else is.

usage: tools/check_purity.py [--nm PROGRAM] LIBRARY...
"""

import argparse
import re
import subprocess
import sys

# Symbols that compute. Whatever is not in this list is an impurity: a list of what is forbidden
# would never be complete.
ALLOWED = [
    r"_Z.*3nvs.*",  # our own, by their namespace; templates of the C++ library for our types too
    r"_Z(nwm|dlPv|dlPvm|nam|daPv|daPvm).*",  # operator new and delete
    r"_ZN?K?St.*|_ZSt.*|_ZN9__gnu_cxx.*|_ZT[VISv].*|_ZNKSt.*",  # the C++ library
    r"__gxx_personality_v0|__cxa_.*|_Unwind_Resume|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_",
    r"DW\.ref\.__gxx_personality_v0|__dso_handle",
    r"__u?(div|mod|divmod)ti[34]",  # division of 128 bits
    r"mem(cpy|move|set|cmp|chr)|str(len|cmp|ncmp)|bcmp",
]
# Parts of the C++ library that are not pure, whatever their namespace.
FORBIDDEN = [
    r".*6chrono.*(clock|now).*",
    r"_ZNSt6thread.*|_ZSt.*thread.*|.*condition_variable.*|.*mutex.*",
    r".*random_device.*",
    r".*(ifstream|ofstream|filebuf|ios_base|_ZSt4cout|_ZSt4cerr|_ZSt3cin|_ZSt4clog).*",
    r".*filesystem.*",
]


def undefined_symbols(nm, library):
    command = [nm, "--undefined-only", "--format=posix", library]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    symbols = set()
    for line in output.splitlines():
        fields = line.split()
        if len(fields) >= 2 and fields[1] in ("U", "w"):
            symbols.add(fields[0])
    return symbols


def is_pure(symbol):
    if any(re.fullmatch(pattern, symbol) for pattern in FORBIDDEN):
        return False
    return any(re.fullmatch(pattern, symbol) for pattern in ALLOWED)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nm", default="nm")
    parser.add_argument("libraries", nargs="+", metavar="LIBRARY")
    options = parser.parse_args(arguments)
    impure = 0
    for library in options.libraries:
        symbols = undefined_symbols(options.nm, library)
        if not symbols:
            print(f"{library}: no undefined symbols at all; is it the right file?")
            impure += 1
        for symbol in sorted(symbols):
            if not is_pure(symbol):
                print(f"{library}: needs {symbol}, which is not pure")
                impure += 1
    return 1 if impure else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
