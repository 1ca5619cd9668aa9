"""Batched functions beside the machine: how fast their arithmetic runs, and how fast it could."""

from __future__ import annotations

import ctypes
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.measure import NotMeasured, process
from casid.codegen import compile_shared

#: Vector instructions of double precision, one operation a lane; of each an independent one to measure.
KINDS = {
    "mul": (r"vmulpd", "vmulpd %1, %0, %0"),
    "add": (r"v(?:add|sub|addsub|max|min)pd", "vaddpd %1, %0, %0"),
    "fma": (r"vfn?m(?:add|sub)\d*pd", "vfmadd231pd %1, %2, %0"),
    "div": (r"v(?:div|sqrt)pd", "vdivpd %1, %0, %0"),
}
#: Doubles in a register.
LANES = {"ymm": 4, "zmm": 8}
#: Accumulators: more than an instruction takes cycles times those begun in each. Instructions of a loop; loops.
CHAINS, LENGTH, LOOPS = 12, 240, 1000


def arithmetic(library: Path) -> tuple[Counter[str], str]:
    """Vector instructions, by kind, of the function ``f`` for as many states as a register holds, and the registers.

    The compiler writes it into the function for a block where that calls it once.
    """
    if shutil.which("objdump") is None:
        raise NotMeasured("needs objdump (Debian: apt-get install binutils)")
    done = process("objdump", "-d", "--no-show-raw-insn", library)
    bodies = [re.search(rf"<f_{form}>:\n(.*?)\n\n", done.stdout + "\n\n", re.DOTALL) for form in ("lanes", "block")]
    body = next(filter(None, bodies), None)
    found, wide = Counter[str](), Counter[str]()
    for line in body[1].splitlines() if body else ():
        for kind, (pattern, _) in KINDS.items():
            if re.search(rf"\t{pattern}\b", line):
                found[kind] += 1
                wide[re.findall(r"%([xyz]mm)\d+", line)[-1]] += 1
    if (set(wide) - {"zmm"} and set(wide) - {"ymm"}) or not found:
        raise NotMeasured(f"'{library}' has vector instructions of several widths or none: {dict(wide)}")
    return found, next(iter(wide))


def fastest(mix: Mapping[str, int], register: str) -> Callable[[], object]:
    """As many instructions of each kind in proportion, from registers, none waiting: `LENGTH`, `LOOPS` times."""
    total, order = sum(mix.values()), list[str]()
    for step in range(LENGTH):  # evenly spread
        lacks = {kind: count * (step + 1) / total - order.count(kind) for kind, count in mix.items()}
        order.append(max(lacks, key=lambda kind: lacks[kind]))
    lanes = LANES[register]
    names = [f"a{k}" for k in range(CHAINS)]
    places = ", ".join(f'"x"({name})' for name in names)
    steps = "\n".join(
        f'__asm__ volatile("{KINDS[kind][1]}" : "+x"({names[k % CHAINS]}) : "x"(one), "x"(small));'
        for k, kind in enumerate(order)
    )
    source = (
        f"typedef double vec __attribute__((vector_size({8 * lanes})));\n"
        f"void fastest(void) {{ vec one = {{0}}, small = {{0}}; one += 1.0; small += 1e-9;\n"
        f"vec {', '.join(f'{name} = one' for name in names)};\n"
        f"for (int k = 0; k < {LOOPS}; ++k) {{ {steps} }}\n"
        f'__asm__ volatile("" :: {places}); }}\n'
    )
    return ctypes.CDLL(str(compile_shared(source, "fastest"))).fastest
