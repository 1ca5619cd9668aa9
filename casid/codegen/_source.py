"""C functions of CasADi functions: one call one sample, or one call many samples."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from casid.codegen._emit import DOUBLE, SINGLE, Emitter, Real, lanes_functions, scalar_sincos, vector_sincos, wrapped
from casid.codegen._graph import Graph, Operations, count_operations, graph_of, schedule, simplify
from casid.errors import ExportError

#: Samples that a batched function computes side by side, in double precision.
WIDTH = DOUBLE.width

_C_KEYWORDS = set(
    """auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main
    bool catch class delete explicit export false friend mutable namespace new operator private protected public
    template this throw true try typename using virtual sin cos tan sqrt exp log pow fabs""".split()
)


@dataclass(frozen=True)
class Argument:
    """An input or output of a C function: an array, matrices row by row.

    Attributes
    ----------
    name : str
    rows, columns : int
    positions : tuple of int
        Place in the array of each structural nonzero, in CasADi's order.
    """

    name: str
    rows: int
    columns: int
    positions: tuple[int, ...]

    @property
    def size(self) -> int:
        """Length of the array."""
        return self.rows * self.columns


def check_identifier(name: str, what: str = "name") -> str:
    """The name, if C and C++ take it as an identifier; ExportError otherwise."""
    if (
        not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
        or "__" in name
        or name in _C_KEYWORDS
        or keyword.iskeyword(name)
    ):
        raise ExportError(
            f"{what} '{name}' is no C identifier: letters, digits and single underscores, starting with a letter, "
            "and no keyword"
        )
    return name


def identifier(name: str) -> str:
    """A C identifier that reads like the name: other characters become underscores."""
    cleaned = re.sub("[^A-Za-z0-9]+", "_", name).strip("_")
    cleaned = cleaned if cleaned[:1].isalpha() else f"robot_{cleaned}".rstrip("_")
    return f"robot_{cleaned}" if cleaned in _C_KEYWORDS or keyword.iskeyword(cleaned) else cleaned


class CFunction:
    """A CasADi function as C.

    Parameters
    ----------
    function
        Any function that expands to scalar operations.
    name
        Name of the C function; default: the function's.
    real
        What its batched form computes with; its form for one sample is in double precision.
    """

    def __init__(self, function: ca.Function, name: str | None = None, real: Real = DOUBLE) -> None:
        self.function, self.real = function, real
        self.sweep: ca.Function | None = getattr(function, "sweep", None)
        self.name = check_identifier(name or function.name(), "function name")
        self.inputs = tuple(_argument(function.name_in(i), function.sparsity_in(i)) for i in range(function.n_in()))
        self.outputs = tuple(_argument(function.name_out(i), function.sparsity_out(i)) for i in range(function.n_out()))
        names = [check_identifier(a.name, f"argument of '{self.name}'") for a in (*self.inputs, *self.outputs)]
        if len(set(names)) < len(names):
            raise ExportError(f"function '{self.name}': its inputs and outputs must have different names: {names}")

    @cached_property
    def graph(self) -> Graph:
        """The simplified program, in the order in which it is written."""
        return schedule(simplify(graph_of(self.function)), self.function)

    @cached_property
    def program(self) -> Graph:
        """What the C function for one sample computes: the graph, or its sweep."""
        return self.graph if self.sweep is None else schedule(simplify(graph_of(self.sweep)), self.sweep)

    @cached_property
    def operations(self) -> Operations:
        """What one evaluation of the graph costs."""
        return count_operations(self.graph)

    @cached_property
    def zeros(self) -> tuple[frozenset[int], ...]:
        """Places in the array of each output that are zero whatever the inputs: structural zeros and what became so."""
        written: list[set[int]] = [set() for _ in self.outputs]
        for output, position, ref in self.graph.outputs:
            if self.graph.number(ref) != 0.0:
                written[output].add(self.outputs[output].positions[position])
        return tuple(frozenset(range(a.size)) - used for a, used in zip(self.outputs, written, strict=True))

    @property
    def declaration(self) -> str:
        """C prototype without the semicolon."""
        return f"int {self.name}({self._arrays('double', 1)})"

    def _arrays(self, real: str, width: int) -> str:
        """Parameters of a C function of so many samples side by side."""
        inputs = [f"const {real} {a.name}[{a.size * width}]" for a in self.inputs]
        return ", ".join([*inputs, *(f"{real} {a.name}[{a.size * width}]" for a in self.outputs)])

    def definition(self, sincos: str) -> str:
        """C function for one sample."""
        zeros = self.zeros if self.sweep is None else [{*range(a.size)} - {*a.positions} for a in self.outputs]
        read = [[f"{a.name}[{place}]" for place in a.positions] for a in self.inputs]
        write = [
            ["" if place in empty else f"{a.name}[{place}] = {{}};" for place in a.positions]
            for a, empty in zip(self.outputs, zeros, strict=True)
        ]
        statements = self.statements(sincos, read, write)
        reserved = [a.name for a in (*self.inputs, *self.outputs) if re.fullmatch(r"(v|angle|sine|cosine)\d+", a.name)]
        if reserved:
            raise ExportError(
                f"function '{self.name}': '{reserved[0]}' is used inside the C code, rename that argument"
            )
        cleared = []
        for a, empty in zip(self.outputs, zeros, strict=True):
            for zero, first, end in _runs(a.size, empty, 1):
                if zero and end > first + 1:
                    cleared.append(f"memset({a.name} + {first}, 0, {end - first} * sizeof(double));")
                elif zero:
                    cleared.append(f"{a.name}[{first}] = 0.0;")
        body = wrapped(self._unused(self.program) + cleared + statements)
        return f"{self.declaration}\n{{\n{body}\n    return 0;\n}}\n"

    def _unused(self, graph: Graph) -> list[str]:
        """Statements that name the inputs which a program does not read."""
        used = {graph[n].args[0] for n in graph.live() if graph[n].op == "input"}
        return [f"(void){a.name};" for i, a in enumerate(self.inputs) if i not in used]

    def statements(self, sincos: str, read: list[list[str]], write: list[list[str]]) -> list[str]:
        """C statements for one sample, see `Emitter`.

        Those of a sweep compute the values that the seed does not enter once, then `LANES` rows of the Jacobians a turn
        of a loop: seed k of a turn has its 1 in lane k.
        """
        if self.sweep is None:
            return Emitter(self.graph, sincos, read, write).statements()
        count = self.sweep.size1_in(len(self.inputs))
        room = -(-count // WIDTH) * WIDTH
        starts = [0, *itertools.accumulate(self.sweep.numel_out(i) for i in range(self.sweep.n_out()))]
        places = [_positions(self.sweep.sparsity_out(i)) for i in range(self.sweep.n_out())]
        emitter = Emitter(
            self.program,
            sincos,
            [*read, [f"LANES_AT(unit, {count - 1 - k} + lane)" for k in range(count)]],
            [
                [f"LANES_AT(rows, {(start + place) * room} + lane) = {{}};" for place in own]
                for start, own in zip(starts, places, strict=False)
            ],
            seed=len(self.inputs),
        )
        once = emitter.statements()
        ones = ", ".join(str(float(k == count - 1)) for k in range(count + room - 1))
        lines = [f"static const double unit[{count + room - 1}] = {{{ones}}};"]
        lines += [f"double rows[{starts[-1] * room}] = {{0.0}};", "int lane;", *once]
        lines += [f"for (lane = 0; lane < {count}; lane += LANES) {{", *emitter.swept, "}"]
        first = 0
        for o in range(self.function.n_out()):
            i = o % self.sweep.n_out()
            for k, (row, column) in enumerate(zip(*self.function.sparsity_out(o).get_triplet(), strict=True)):
                lines.append(write[o][k].format(f"rows[{(starts[i] + column) * room + first + row}]"))
            first += self.function.size1_out(o) if i + 1 == self.sweep.n_out() else 0
        return lines

    @property
    def block_declaration(self) -> str:
        """C prototype of the function for `WIDTH` samples side by side, without the semicolon."""
        return f"int {self.name}_block({self._arrays(self.real.name, self.real.width)})"

    @property
    def batch_declaration(self) -> str:
        """C prototype of the function for any number of samples, without the semicolon."""
        arguments = ["long count"]
        for a in self.inputs:
            arguments += [f"const {self.real.name} *{a.name}", f"long {a.name}_step"]
        arguments += [f"{self.real.name} *{a.name}" for a in self.outputs]
        return f"int {self.name}_batch({', '.join(arguments)})"

    def block_definition(self, sincos: str) -> tuple[str, set[tuple[str, int]]]:
        """C function for `WIDTH` samples, and the functions of the C library that it needs lane by lane.

        It leaves alone what is zero whatever the inputs: the caller clears the outputs once. Such entries are half of a
        chain's regressor, and writing them took a third of the time.
        """
        read = [[f"LOAD({a.name}, {place})" for place in a.positions] for a in self.inputs]
        write = [
            ["" if place in empty else f"STORE({a.name}, {place}, {{}});" for place in a.positions]
            for a, empty in zip(self.outputs, self.zeros, strict=True)
        ]
        emitter = Emitter(self.graph, sincos, read, write, vector=True, real=self.real)
        body = emitter.statements()
        arguments = [f"const {self.real.name} *{a.name}" for a in self.inputs]
        arguments += [f"{self.real.name} *{a.name}" for a in self.outputs]
        lanes = ", ".join(f"{a.name} + lane" for a in (*self.inputs, *self.outputs))
        text = wrapped(self._unused(self.graph) + body)
        return (
            f"static void {self.name}_lanes({', '.join(arguments)})\n{{\n{text}\n}}\n\n"
            f"{self.block_declaration}\n{{\n    int lane;\n    for (lane = 0; lane < WIDTH; lane += LANES)\n"
            f"        {self.name}_lanes({lanes});\n    return 0;\n}}\n",
            emitter.functions,
        )

    @property
    def batch_definition(self) -> str:
        """C function for any number of samples, sample after sample in memory; calls the block function."""
        arguments, width = (*self.inputs, *self.outputs), self.real.width
        arrays = [f"ALIGNED {self.real.name} block_{a.name}[{a.size * width}];" for a in arguments]
        clear = [f"memset(block_{a.name}, 0, sizeof block_{a.name});" for a in self.outputs]
        loads = [  # what all samples share is loaded once
            f"if (!start || {a.name}_step) load_rows({a.size}, {a.name} + start * {a.name}_step, {a.name}_step, "
            f"block_{a.name}, lanes, count - start);"
            for a in self.inputs
        ]
        stores = [
            f"{'clear_rows(' if zero else f'store_rows(block_{a.name}, '}{a.name} + start * {a.size}, {a.size}, "
            f"{first}, {end}, lanes);"
            for a, zeros in zip(self.outputs, self.zeros, strict=True)
            for zero, first, end in _runs(a.size, zeros, width)
        ]
        call = f"{self.name}_block({', '.join(f'block_{a.name}' for a in arguments)});"
        return (
            f"{self.batch_declaration}\n{{\n    long start;\n{wrapped(arrays + clear)}\n"
            "    for (start = 0; start < count; start += WIDTH) {\n"
            "        const int lanes = count - start < WIDTH ? (int)(count - start) : WIDTH;\n"
            f"{wrapped([*loads, call, *stores], ' ' * 8)}\n    }}\n    return 0;\n}}\n"
        )


def _runs(size: int, zeros: Set[int], width: int) -> list[tuple[bool, int, int]]:
    """An array in pieces of whole blocks of ``width`` entries: whether all of them are always 0, first entry, end."""
    empty = [zeros >= set(range(first, min(first + width, size))) for first in range(0, size, width)]
    runs, first = [], 0
    for zero, blocks in itertools.groupby(empty):
        end = min(first + width * len(list(blocks)), size)
        runs.append((zero, first, end))
        first = end
    return runs


def _positions(sparsity: ca.Sparsity) -> tuple[int, ...]:
    """Places of the structural nonzeros in an array of the matrix row by row."""
    return tuple(r * sparsity.size2() + c for r, c in zip(*sparsity.get_triplet(), strict=True))


def _argument(name: str, sparsity: ca.Sparsity) -> Argument:
    return Argument(name, sparsity.size1(), sparsity.size2(), _positions(sparsity))


_SCALAR_HEAD = """#include <math.h>
#include <stdint.h>
#include <string.h>
"""


def _lanes(real: Real = DOUBLE) -> str:
    """C macro of the lanes of a vector: what a register of the processor that is compiled for holds.

    Longer vectors are split by the compiler through memory, which takes up to four times as long.
    """
    return f"""#if defined(__AVX512F__)
#define LANES {real.width}
#elif defined(__AVX2__)
#define LANES {real.width // 2}
#else
#define LANES {real.width // 4}
#endif
"""


_LANES_HEAD = f"""
#ifdef __GNUC__
{_lanes()}typedef double vec __attribute__((vector_size(LANES * sizeof(double))));
typedef double loose_vec __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));
#define LANES_AT(array, k) (*(loose_vec *)((array) + (k)))
#else
#define LANES 1
typedef double vec;
#define LANES_AT(array, k) ((array)[k])
#endif
"""


def _vector_head(real: Real) -> str:
    """Types of `LANES` lanes, and what moves `Real.width` samples in and out of them."""
    name = real.name
    return f"""#include <math.h>
#include <string.h>

#define WIDTH {real.width}
{_lanes(real)}typedef {name} vec __attribute__((vector_size(LANES * sizeof({name}))));
typedef {real.mask} mask __attribute__((vector_size(LANES * sizeof({name}))));
typedef {name} loose_vec __attribute__((vector_size(LANES * sizeof({name})), aligned(sizeof({name})), may_alias));
#define ALIGNED __attribute__((aligned(WIDTH * sizeof({name}))))
#define LOAD(array, entry) (*(const loose_vec *)((array) + (entry) * WIDTH))
#define STORE(array, entry, value) (*(loose_vec *)((array) + (entry) * WIDTH) = (value))
#define ZERO ((vec){{0}})
#define ONE (ZERO + {real.constant(1.0)})
#define MAGNITUDE {2 ** (real.bits - 1) - 1:#x}

#if defined(__clang__) || __GNUC__ >= 12
#define TRANSPOSE_IN_REGISTERS 1
#define TILE (LANES < 8 ? LANES : 8)
typedef {name} tile __attribute__((vector_size(TILE * sizeof({name}))));
typedef {name} loose_tile __attribute__((vector_size(TILE * sizeof({name})), aligned(sizeof({name})), may_alias));
#define TILE_AT(array, k) (*(loose_tile *)((array) + (k)))
static inline __attribute__((always_inline)) void transpose(tile *a)
{{
{_transposed(real)}
}}
/* The first few of eight entries: a line of the cache of each sample. */
static inline __attribute__((always_inline)) void store_eight(const {name} *from, {name} *to, long size, int few)
{{
    int lane, e, k;
    for (lane = 0; lane < WIDTH; lane += TILE)
        for (e = 0; e < few; e += TILE) {{
            tile rows[TILE];
            for (k = 0; k < TILE; ++k)
                rows[k] = TILE_AT(({name} *)from, (e + k < few ? e + k : 0) * WIDTH + lane);
            transpose(rows);
            for (k = 0; k < TILE; ++k)
                if (e + TILE <= few)
                    TILE_AT(to, (lane + k) * size + e) = rows[k];
                else
                    memcpy(to + (lane + k) * size + e, rows + k, (size_t)(few - e) * sizeof *to);
        }}
}}
#else
#define TRANSPOSE_IN_REGISTERS 0
#endif

/* Entry after entry in place of sample after sample; missing samples repeat the last one, a step of 0 all. Square
   tiles are transposed in registers, read whole where the samples up to `count` hold that. */
static inline __attribute__((always_inline)) void load_rows(long size, const {name} *from, long step, {name} *to,
    int lanes, long count)
{{
    long i;
    int lane;
    (void)count;
    for (i = 0; i < size && !step; ++i)
        for (lane = 0; lane < WIDTH; lane += LANES)
            STORE(to + lane, i, ONE * from[i]);
#if TRANSPOSE_IN_REGISTERS
    for (; step > 0 && i + TILE / 2 <= size; i += TILE) {{
        const int within = (WIDTH - 1) * step + i + TILE <= (count - 1) * step + size;
        for (lane = 0; lane < WIDTH; lane += TILE) {{
            tile rows[TILE] = {{{{0}}}};
            int k;
            for (k = 0; k < TILE; ++k)
                if (within)
                    rows[k] = TILE_AT(({name} *)from, (lane + k) * step + i);
                else
                    memcpy(rows + k, from + (lane + k < lanes ? lane + k : lanes - 1) * step + i,
                           (size_t)(size - i < TILE ? size - i : TILE) * sizeof *from);
            transpose(rows);
            for (k = 0; k < TILE && i + k < size; ++k)
                TILE_AT(to, (i + k) * WIDTH + lane) = rows[k];
        }}
    }}
#endif
    for (; i < size; ++i)
        for (lane = 0; lane < WIDTH; ++lane)
            to[i * WIDTH + lane] = from[(lane < lanes ? lane : lanes - 1) * step + i];
}}

/* Entries first ... end - 1, sample after sample instead of entry after entry, in the same tiles. */
static inline __attribute__((always_inline)) void store_rows(const {name} *from, {name} *to, long size, long first,
    long end, int lanes)
{{
    long i = first;
    int lane;
#if TRANSPOSE_IN_REGISTERS
    const int rest = (int)((end - first) % 8);
    for (; i + 8 <= end && lanes == WIDTH; i += 8)
        store_eight(from + i * WIDTH, to + i, size, 8);
    if (rest >= TILE / 2 && lanes == WIDTH) {{
        store_eight(from + i * WIDTH, to + i, size, rest);
        i = end;
    }}
#endif
    for (; i < end; ++i)
        for (lane = 0; lane < lanes; ++lane)
            to[lane * size + i] = from[i * WIDTH + lane];
}}

"""


def _transposed(real: Real) -> str:
    """C statements that transpose as many vectors as they have lanes: exchanges between lanes 1, 2, ... apart."""
    text = ""
    for lanes in sorted({min(real.width // k, 8) for k in (1, 2, 4)}):
        lines, before, apart = [], [f"a[{k}]" for k in range(lanes)], 1
        while apart < lanes:
            after = [f"{'bcd'[apart.bit_length() - 1]}{k}" for k in range(lanes)]
            for k in range(lanes):
                order = ", ".join(str((j & ~apart) + (k & apart) + (lanes if j & apart else 0)) for j in range(lanes))
                pair = f"{before[k & ~apart]}, {before[k | apart]}"
                lines.append(f"const tile {after[k]} = __builtin_shufflevector({pair}, {order});")
            before, apart = after, 2 * apart
        lines += [f"a[{k}] = {value};" for k, value in enumerate(before)]
        text += f"#{'el' * bool(text)}if LANES {'>=' if lanes == 8 else '=='} {lanes}\n{wrapped(lines)}\n"
    return text + "#endif"


_CLEAR_ROWS = """/* Zeros in entries first ... end - 1 of each sample. */
static inline void clear_rows(REAL *to, long size, long first, long end, int lanes)
{
    int lane;
    for (lane = 0; lane < lanes; ++lane)
        memset(to + lane * size + first, 0, (size_t)(end - first) * sizeof *to);
}

"""


def scalar_source(functions: list[CFunction], prefix: str) -> str:
    """C99 (and C++) source of functions for one sample each."""
    sincos = f"{prefix}_sincos"
    text = _scalar_head(functions)
    if any(f.graph[n].op in ("sin", "cos") for f in functions for n in f.graph.live()):
        text += scalar_sincos(sincos) + "\n"
    return text + "\n".join(f.definition(sincos) for f in functions)


def _scalar_head(functions: Sequence[CFunction]) -> str:
    return _SCALAR_HEAD + (_LANES_HEAD if any(f.sweep is not None for f in functions) else "") + "\n"


def batch_source(functions: list[CFunction], prefix: str) -> str:
    """C source, with the vector extensions of GCC and Clang, of functions for many samples each, all of one `Real`."""
    sincos, real = f"{prefix}_sincos", functions[0].real
    definitions = [f.block_definition(sincos) for f in functions]
    text = _vector_head(real)
    if any(f.graph[n].op in ("sin", "cos") for f in functions for n in f.graph.live()):
        text += vector_sincos(sincos, real) + "\n"
    text += lanes_functions(set().union(*(needed for _, needed in definitions)))
    pairs = zip(functions, definitions, strict=True)
    body = "\n".join(f"{block}\n{f.batch_definition}" for f, (block, _) in pairs)
    return text + (_CLEAR_ROWS.replace("REAL", real.name) if "clear_rows(" in body else "") + body


def entry_source(function: CFunction, kind: str) -> str:
    """C function ``casid_entry`` that takes arrays of pointers: of one sample (``call``) or of many."""
    inputs = [f"in[{i}]" for i in range(len(function.inputs))]
    outputs = [f"out[{o}]" for o in range(len(function.outputs))]
    if kind == "call":
        head, name, given = "const double *const *in, double *const *out", function.name, inputs
    else:
        real = function.real.name
        head = f"long count, const {real} *const *in, const long *step, {real} *const *out"
        name = f"{function.name}_batch"
        given = ["count", *(text for i, value in enumerate(inputs) for text in (value, f"step[{i}]"))]
    unused = "" if inputs else "    (void)in;\n" + ("    (void)step;\n" if kind != "call" else "")
    call = f"{name}({', '.join([*given, *outputs])})"
    return f"\nint casid_entry({head})\n{{\n{unused}    return {call};\n}}\n"


def called_source(functions: Sequence[CFunction], kind: str) -> str:
    """C source of a function and its entry: for one sample (``call``), many (``batch``), many floats (``single``)."""
    (given,) = functions
    f = CFunction(given.function, given.name, SINGLE) if kind == "single" else given
    return (scalar_source if kind == "call" else batch_source)([f], "casid") + entry_source(f, kind)


_LOOP = """
int casid_accumulate(long count, const double *start, const double *drive, const double *p, double *x, double *y)
{{
    long i;
    for (i = 0; i < count; i++) {{
        {step}(i ? x + (i - 1) * {states} : start, drive + i * {inputs}, p, x + i * {states}, y + i * {outputs});
    }}
    return 0;
}}
"""


def recursion_source(functions: Sequence[CFunction]) -> str:
    """C source of a step ``(x, u, p) -> (x, y)`` and of ``casid_accumulate``, which repeats it."""
    (step,) = functions
    (x, u, _), (_, y) = step.inputs, step.outputs
    loop = _LOOP.format(step=step.name, states=x.size, inputs=u.size, outputs=y.size)
    return scalar_source([step], "casid") + loop


def external_source(functions: Sequence[CFunction]) -> str:
    """C source of functions as `casadi.external` loads them: arrays of structural nonzeros by columns."""
    text = _scalar_head(functions) + scalar_sincos("casid_sincos") + "\n"
    return text + "\n".join(_external(f) for f in functions)


def _external(f: CFunction) -> str:
    inputs = [f.function.sparsity_in(i) for i in range(f.function.n_in())]
    outputs = [f.function.sparsity_out(o) for o in range(f.function.n_out())]
    read = [[f"a{i}[{k}]" for k in range(s.nnz())] for i, s in enumerate(inputs)]
    write = [[f"r{o}[{k}] = {{}};" for k in range(s.nnz())] for o, s in enumerate(outputs)]
    statements = f.statements("casid_sincos", read, write)
    spare = [0, *itertools.accumulate(s.nnz() for s in outputs)]
    lines = [f"static const double none[{max(1, *(s.nnz() for s in inputs), 1)}] = {{0}};", "(void)none;"]
    for i in range(len(inputs)):
        lines += [f"const double *a{i} = arg[{i}] ? arg[{i}] : none;", f"(void)a{i};"]
    for o, s in enumerate(outputs):
        lines += [f"double *r{o} = res[{o}] ? res[{o}] : w + {spare[o]};", f"(void)r{o};"] if s.nnz() else []
    given, made = ({a.name: s for a, s in zip(*p, strict=True)} for p in ((f.inputs, inputs), (f.outputs, outputs)))
    return casadi_source(f.name, given, made, [*lines, *statements], spare[-1])


def casadi_source(
    name: str, inputs: Mapping[str, ca.Sparsity], outputs: Mapping[str, ca.Sparsity], lines: Sequence[str], work: int
) -> str:
    """C source of a function as `casadi.external` loads it.

    Parameters
    ----------
    name
        Its name in C.
    inputs, outputs
        Patterns of its arguments by name.
    lines
        Its statements, from ``arg`` to ``res`` with so many numbers of room at ``w``.
    work
        That number.
    """
    text = f"int {name}(const double **arg, double **res, long long *iw, double *w, int mem)\n{{\n"
    text += f"{wrapped([*lines, '(void)iw, (void)w, (void)mem, (void)arg, (void)res;', 'return 0;'])}\n}}\n"
    for side, patterns in (("in", inputs), ("out", outputs)):
        size = len(patterns)
        names = ", ".join(f'"{key}"' for key in patterns) or "0"
        for k, s in enumerate(patterns.values()):
            numbers = ", ".join(map(str, [s.size1(), s.size2(), *s.colind(), *s.row()]))
            text += f"static const long long {name}_{side}{k}[] = {{{numbers}}};\n"
        tables = ", ".join(f"{name}_{side}{k}" for k in range(size)) or "0"
        text += (
            f"long long {name}_n_{side}(void) {{ return {size}; }}\n"
            f"const char *{name}_name_{side}(long long i) {{ static const char *const names[] = {{{names}}}; "
            f"return i < {size} ? names[i] : 0; }}\n"
            f"const long long *{name}_sparsity_{side}(long long i) {{ static const long long *const all[] = "
            f"{{{tables}}}; return i < {size} ? all[i] : 0; }}\n"
        )
    return text + (
        f"int {name}_work(long long *a, long long *r, long long *iw, long long *w)\n"
        f"{{ *a = {len(inputs)}; *r = {len(outputs)}; *iw = 0; *w = {work}; return 0; }}\n"
    )
