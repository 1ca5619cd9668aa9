"""The texts around exported C functions: header, build files, example, self-test."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casid.codegen import WIDTH, Argument, CFunction
from casid.export._beside import Described, shape_words
from casid.files import template
from casid.version import __version__


def comment(paragraphs: Sequence[str]) -> str:
    lines: list[str] = []
    for paragraph in paragraphs:
        safe = paragraph.replace("*/", "* /")
        lines += textwrap.wrap(safe, 112, break_long_words=False, break_on_hyphens=False) if safe else [""]
    return "/*\n" + "\n".join(f" * {line}".rstrip() for line in lines) + "\n */\n"


def _argument_words(argument: Argument, described: Described, returned: bool) -> str:
    meaning = described.meaning(argument)
    direction = "out" if returned else "in"
    return f"{argument.name} ({direction}, {shape_words(argument)}){': ' + meaning if meaning else ''}"


_RULES = (
    "All functions: plain C99 (and C++), SI units, no allocation, no static state: any number of threads may call "
    "them. Arrays must not overlap. They return 0. Values that are not finite go through to the results.",
    "Compile without -ffast-math: it would break the reduction of angles. With -ffp-contract=fast and -march=native "
    "they are fastest.",
)


def header(prefix: str, functions: Sequence[Described], notes: Sequence[str]) -> str:
    """The ``.h`` file."""
    text = ""
    for described in functions:
        f, count = described.function, described.function.operations
        lines = [described.words] if described.words else []
        lines += [_argument_words(a, described, False) for a in f.inputs]
        lines += [_argument_words(a, described, True) for a in f.outputs]
        lines.append(
            f"Cost: {count.multiplications} multiplications, {count.additions} additions, {count.divisions} divisions, "
            f"{count.trigonometric} sines and cosines, {count.other} others."
        )
        text += comment(lines) + _declaration(f.declaration) + "\n\n"
    return comment([f"Written by casid {__version__}.", "", *notes, "", *_RULES]) + guarded(prefix, text)


def guarded(name: str, text: str) -> str:
    """Declarations of a ``.h`` file of that name, included once, also by C++."""
    guard = f"{name.upper()}_H"
    begin = f'#ifndef {guard}\n#define {guard}\n\n#ifdef __cplusplus\nextern "C" {{\n#endif\n\n'
    return f"{begin}{text}#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"


def batch_header(prefix: str, functions: Sequence[CFunction]) -> str:
    """The ``.h`` file of the functions for many samples."""
    head = comment(
        [
            f"Written by casid {__version__}: the functions of {prefix}.h for many samples; needs the vector "
            "extensions of GCC or Clang.",
            "",
            f"..._block: {WIDTH} samples side by side. Entry e of sample s stands at [{WIDTH} * e + s]. Entries that "
            "are always zero are not written: clear the array once. Fastest where arrays are aligned to 64 bytes.",
            "..._batch: count samples, one after the other in memory; sample s of an input x begins at x + s * x_step "
            "(x_step 0: the same for all). Every entry is written.",
        ]
    )
    both = (f"{_declaration(f.block_declaration)}\n{_declaration(f.batch_declaration)}\n\n" for f in functions)
    return head + guarded(f"{prefix}_batch", "".join(both))


def _declaration(declaration: str) -> str:
    return textwrap.fill(declaration + ";", 116, subsequent_indent="    ", break_long_words=False)


def _literal(values: np.ndarray) -> str:
    items = ", ".join(_number(float(value)) for value in values)
    return textwrap.fill(items, 110, initial_indent="        ", subsequent_indent="        ", break_long_words=False)


def _number(value: float) -> str:
    if np.isnan(value):
        return "NAN"
    return ("-" if value < 0 else "") + "INFINITY" if np.isinf(value) else repr(value)


@dataclass(frozen=True, eq=False)
class Case:
    """A sample of the self-test: inputs and outputs of a function, and by how much each output may deviate."""

    inputs: list[np.ndarray]
    outputs: list[np.ndarray]
    allowed: list[float]

    @property
    def uncertainty(self) -> float:
        """Largest deviation allowed, relative to the largest entry of the output."""
        sizes = (np.abs(values).max(initial=0.0) for values in self.outputs)
        return max((a / size if a else 0.0 for a, size in zip(self.allowed, sizes, strict=True)), default=0.0)


def self_test(prefix: str, functions: Sequence[CFunction], cases: Sequence[Sequence[Case]]) -> str:
    """A program that compares every function with values of the CasADi graph; exit code 1 if one deviates.

    By more than rounding, whose bound is that of each sample: a function that inverts a nearly singular matrix is as
    inexact as the condition number makes it.
    """
    tests, reports = [], []
    for f, samples in zip(functions, cases, strict=True):
        body = [f"static double test_{f.name}(void)", "{", "    double worst = 0.0, error;"]
        for case in samples:
            body.append("    {")
            for a, values in zip(f.inputs, case.inputs, strict=True):
                body.append(f"        static const double in_{a.name}[{a.size}] = {{\n{_literal(values)}}};")
            for a, values in zip(f.outputs, case.outputs, strict=True):
                body.append(f"        static const double expected_{a.name}[{a.size}] = {{\n{_literal(values)}}};")
                body.append(f"        double out_{a.name}[{a.size}];")
            passed = ", ".join([f"in_{a.name}" for a in f.inputs] + [f"out_{a.name}" for a in f.outputs])
            body.append(f"        if ({f.name}({passed}) != 0)\n            return HUGE_VAL;")
            for a, bound in zip(f.outputs, case.allowed, strict=True):
                body.append(f"        error = deviation({a.size}, out_{a.name}, expected_{a.name}, {_number(bound)});")
                body.append("        if (error > worst)\n            worst = error;")
            body.append("    }")
        tests.append("\n".join([*body, "    return worst;", "}", ""]))
        reports.append(f'    failed |= report("{f.name}", test_{f.name}());')
    slots = {"prefix": prefix, "tests": "\n".join(tests), "reports": "\n".join(reports)}
    return template(__package__, "self_test.c", slots)


def example(prefix: str, functions: Sequence[CFunction]) -> str:
    """A small program that calls the first function."""
    f = functions[0]
    values = [f"    double {a.name}[{a.size}] = {{0.0}};" for a in (*f.inputs, *f.outputs)]
    prints = [
        f'    for (i = 0; i < {a.size}; ++i)\n        printf("{a.name}[%d] = %.12g\\n", i, {a.name}[i]);'
        for a in f.outputs
    ]
    call = f"{f.name}({', '.join(a.name for a in (*f.inputs, *f.outputs))})"
    slots = {"prefix": prefix, "values": "\n".join(values), "call": call, "prints": "\n".join(prints)}
    return template(__package__, "example.c", slots)


def build_files(prefix: str, batched: bool) -> dict[str, str]:
    """Makefile (library, example and ``make test``) and CMake file (target, example and test)."""
    own, rule = f"{prefix}_batch", ""
    if batched:
        rule = f"\n{own}.o: {own}.c {own}.h\n\t$(CC) -std=gnu11 $(CFLAGS) -fPIC -c {own}.c -o $@\n"
    slots = {
        "prefix": prefix, "upper": prefix.upper(), "standard": "11" if batched else "99", "rule": rule,
        "batch": f" {own}.o" if batched else "", "sources": f"{prefix}.c {own}.c" if batched else f"{prefix}.c",
    }  # fmt: skip
    return {name: template(__package__, name, slots) for name in ("Makefile", "CMakeLists.txt")}
