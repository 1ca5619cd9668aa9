"""The texts around exported C functions: header, build files, example, self-test."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casid.codegen import WIDTH, Argument, CFunction
from casid.export._beside import Described, shape_words
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


_DEVIATION = """/* Largest deviation, as a multiple of what rounding allows. */
static double deviation(int size, const double *value, const double *expected, double allowed)
{
    double worst = 0.0;
    int i;
    for (i = 0; i < size; ++i) {
        const double error = fabs(value[i] - expected[i]);
        if (value[i] == expected[i] || (isnan(value[i]) && isnan(expected[i])))
            continue;
        if (!(error <= worst * allowed))
            worst = isnan(error) ? HUGE_VAL : error / allowed;
    }
    return worst;
}

"""


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
    text = f"""/* Compares the functions of {prefix}.h with numbers evaluated in Python. Written by casid. */
#include "{prefix}.h"

#include <math.h>
#include <stdio.h>

{_DEVIATION}"""
    calls = []
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
        body += ["    return worst;", "}", ""]
        text += "\n".join(body) + "\n"
        calls.append(f'    failed |= report("{f.name}", test_{f.name}());')
    lines = "\n".join(calls)
    return (
        text
        + f"""static int report(const char *name, double worst)
{{
    printf("%-50s deviates by %.1e of what rounding allows  %s\\n", name, worst, worst <= 1.0 ? "ok" : "FAILED");
    return !(worst <= 1.0);
}}

int main(void)
{{
    int failed = 0;
{lines}
    return failed;
}}
"""
    )


def example(prefix: str, functions: Sequence[CFunction]) -> str:
    """A small program that calls the first function."""
    f = functions[0]
    lines = [f"    double {a.name}[{a.size}] = {{0.0}};" for a in (*f.inputs, *f.outputs)]
    passed = ", ".join(a.name for a in (*f.inputs, *f.outputs))
    prints = [
        f'    for (i = 0; i < {a.size}; ++i)\n        printf("{a.name}[%d] = %.12g\\n", i, {a.name}[i]);'
        for a in f.outputs
    ]
    newline = "\n"
    return f"""/* How to call a function of {prefix}.h: all inputs zero here. Written by casid. */
#include "{prefix}.h"

#include <stdio.h>

int main(void)
{{
    int i;
{newline.join(lines)}
    if ({f.name}({passed}) != 0)
        return 1;
{newline.join(prints)}
    return 0;
}}
"""


def makefile(prefix: str, batched: bool) -> str:
    """The Makefile: library, example, and `make test`."""
    batch = f" {prefix}_batch.o" if batched else ""
    rule = (
        f"\n{prefix}_batch.o: {prefix}_batch.c {prefix}_batch.h\n"
        f"\t$(CC) -std=gnu11 $(CFLAGS) -fPIC -c {prefix}_batch.c -o $@\n"
        if batched
        else ""
    )
    return f"""# make: library and example; make test: compare with numbers evaluated in Python. Written by casid.
CC ?= cc
CFLAGS ?= -O3 -march=native -ffp-contract=fast
STRICT = -std=c99 -Wall -Wextra -Wpedantic

all: lib{prefix}.a lib{prefix}.so example

{prefix}.o: {prefix}.c {prefix}.h
\t$(CC) $(STRICT) $(CFLAGS) -fPIC -c {prefix}.c -o $@
{rule}
lib{prefix}.a: {prefix}.o{batch}
\t$(AR) rcs $@ $^

lib{prefix}.so: {prefix}.o{batch}
\t$(CC) -shared -o $@ $^ -lm

example: example.c lib{prefix}.a
\t$(CC) $(STRICT) $(CFLAGS) example.c lib{prefix}.a -lm -o $@

self_test: self_test.c lib{prefix}.a
\t$(CC) $(STRICT) -O1 self_test.c lib{prefix}.a -lm -o $@

test: self_test
\t./self_test

clean:
\trm -f *.o lib{prefix}.a lib{prefix}.so example self_test

.PHONY: all test clean
"""


def cmake(prefix: str, batched: bool) -> str:
    """The CMake file: target, example and test."""
    sources = f"{prefix}.c {prefix}_batch.c" if batched else f"{prefix}.c"
    return f"""# Written by casid. cmake -B build && cmake --build build && ctest --test-dir build
cmake_minimum_required(VERSION 3.13)
project({prefix} C)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

option({prefix.upper()}_NATIVE "Compile for this machine's processor" ON)

add_library({prefix} {sources})
set_target_properties({prefix} PROPERTIES C_STANDARD {11 if batched else 99} POSITION_INDEPENDENT_CODE ON)
target_include_directories({prefix} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options({prefix} PRIVATE -O3 -ffp-contract=fast)
  if({prefix.upper()}_NATIVE)
    target_compile_options({prefix} PRIVATE -march=native)
  endif()
  target_link_libraries({prefix} PUBLIC m)
endif()

add_executable({prefix}_example example.c)
target_link_libraries({prefix}_example PRIVATE {prefix})

enable_testing()
add_executable({prefix}_self_test self_test.c)
target_link_libraries({prefix}_self_test PRIVATE {prefix})
add_test(NAME {prefix}_self_test COMMAND {prefix}_self_test)
"""
