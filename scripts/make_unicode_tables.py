#!/usr/bin/env python3
"""Writes libvt/src/formats/tokenizer/unicode_tables.cpp from Python's Unicode database.

Usage: scripts/make_unicode_tables.py > libvt/src/formats/tokenizer/unicode_tables.cpp
"""

import unicodedata

LAST = 0x10FFFF
HANGUL = range(0xAC00, 0xD7A4)  # decomposed by formula


def ranges(has):
    """[first, last] of each run of code points for which has(c) holds."""
    out = []
    for c in range(LAST + 1):
        if not has(c):
            continue
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def category(c):
    return unicodedata.category(chr(c))


def is_punctuation(c):
    return category(c)[0] == "P" or (c < 0x7F and category(c)[0] == "S")


def lower(c):
    """The simple mapping: U+0130 alone has a longer one, which begins with it."""
    return ord(chr(c).lower()[0])


def lower_ranges():
    """[first, last, step, delta]: every step-th code point from first to last moves by delta."""
    out = []
    for c in range(LAST + 1):
        delta = lower(c) - c
        if delta == 0:
            continue
        if out and out[-1][3] == delta:
            first, last, step, _ = out[-1]
            gap = c - last
            if gap in (1, 2) and (first == last or gap == step):
                out[-1][1:3] = [c, gap]
                continue
        out.append([c, c, 1, delta])
    return out


def base(c):
    """The first character of the canonical decomposition."""
    return ord(unicodedata.normalize("NFD", chr(c))[0])


def base_ranges():
    """[first, last, to, step]: become `to`, which moves by step for each."""
    out = []
    for c in range(LAST + 1):
        if category(c) == "Cs" or c in HANGUL or base(c) == c:
            continue
        if out and out[-1][1] == c - 1:
            first, last, to, step = out[-1]
            new_step = base(c) - (to + (last - first) * step)
            if new_step in (0, 1) and (first == last or new_step == step):
                out[-1][1], out[-1][3] = c, new_step
                continue
        out.append([c, c, base(c), 0])
    return out


def emit(kind, name, rows):
    print(f"const {kind} k{name}Rows[] = {{")
    line = "   "
    for row in rows:
        # Pairs go without braces: there are many.
        cells = ", ".join(f"0x{v:X}" if v > 9 else str(v) for v in row)
        cell = f" {cells}," if kind == "CodePair" else f" {{{cells}}},"
        if len(line) + len(cell) > 100:
            print(line)
            line = "   "
        line += cell
    print(line)
    print("};\n")


def main():
    bases = base_ranges()
    pairs = [row for row in bases if row[0] == row[1]]
    tables = [
        ("CodeRange", "Control", ranges(lambda c: category(c) in ("Cc", "Cf", "Co", "Cs"))),
        ("CodeRange", "Punctuation", ranges(is_punctuation)),
        ("CodeRange", "Mark", ranges(lambda c: category(c)[0] == "M")),
        ("LowerRange", "Lower", lower_ranges()),
        ("BaseRange", "Base", [row for row in bases if row not in pairs]),
        ("CodePair", "BasePair", [(row[0], row[2]) for row in pairs]),
    ]
    print(f"// Written by scripts/make_unicode_tables.py from Unicode {unicodedata.unidata_version}.")
    print('#include "formats/tokenizer/unicode_tables.h"\n')
    print("// clang-format off\nnamespace vt::tok {\nnamespace {\n")
    for kind, name, rows in tables:
        emit(kind, name, rows)
    print("}  // namespace\n")
    for kind, name, _ in tables:
        print(f"const std::span<const {kind}> k{name} = k{name}Rows;")
    print("\n}  // namespace vt::tok")


main()
