"""Sine and cosine in C, for several angles at once.

A robot needs the sine and cosine of each joint angle, and the library's functions, called one after the other, take
longer than Newton-Euler itself. The code below computes all of them in one loop without branches, which compilers
vectorise, and a vector type goes through the same formulas.

Reduction ``r = x - k pi/2`` with pi/2 in three parts of 33 bits (Cody and Waite 1980), so that ``k part`` is exact for
|k| < 2^20; polynomials of degree 13 and 14 on |r| <= pi/4, interpolated at Chebyshev points; errors of at most 2 units
in the last place, or 1e-20 beside the zeros. Angles beyond 3e5 rad, infinities and NaN go to the C library. In single
precision the parts have 11 bits, the polynomials degree 7 and 8 (Cephes), and angles go as far as 1e4 rad.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from casid.codegen._graph import Graph, Ref
from casid.errors import ExportError


@dataclass(frozen=True)
class Real:
    """What C calls real numbers, and what sines and cosines of them are made of.

    Attributes
    ----------
    name, mask : str
        Its type, and the integer of the same size.
    bits : int
        Size.
    suffix : str
        Ending of its constants.
    sin, cos : tuple of float
        Coefficients of the polynomials from r^3 and r^4.
    half_pi : tuple of float
        pi/2 in three parts.
    round : float
        Adding and subtracting it rounds to an integer, which then stands in the low bits.
    largest : float
        Angles up to which the reduction is exact.
    """

    name: str
    mask: str
    bits: int
    suffix: str
    sin: tuple[float, ...]
    cos: tuple[float, ...]
    half_pi: tuple[float, float, float]
    round: float
    largest: float

    @property
    def width(self) -> int:
        """Samples that a batched function computes side by side: 64 bytes of them."""
        return 512 // self.bits

    def constant(self, value: float) -> str:
        """A finite number in C."""
        return f"{value!r}{self.suffix}"

    @property
    def reduction(self) -> str:
        """C statements from the angle X to its sine a and cosine b before the quadrant, which t holds."""
        c = self.constant
        first, second, third = map(c, self.half_pi)
        return f"""t = X * {c(2 / math.pi)} + {c(self.round)};
k = t - {c(self.round)};
r = ((X - k * {first}) - k * {second}) - k * {third};
z = r * r;
a = r + r * z * ({self._horner(self.sin)});
b = {c(1.0)} - ({c(0.5)} * z - z * z * ({self._horner(self.cos)}));"""

    def _horner(self, coefficients: tuple[float, ...]) -> str:
        text = self.constant(coefficients[-1])
        for value in map(self.constant, reversed(coefficients[:-1])):
            text = f"{value} + z * ({text})" if "z" in text else f"{value} + z * {text}"
        return text.replace("+ z * -", "- z * ").replace("+ -", "- ")


DOUBLE = Real(
    "double", "long long", 64, "",
    (-0.16666666666666666, 0.008333333333330948, -0.00019841269836756774, 2.7557316101617874e-06,
     -2.505113165023518e-08, 1.5918115263265974e-10),
    (0.041666666666666664, -0.0013888888888887398, 2.480158729876456e-05, -2.7557317271145144e-07,
     2.087614614655861e-09, -1.1382623647474604e-11),
    (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21), 1.5 * 2.0**52, 3e5,
)  # fmt: skip
SINGLE = Real(
    "float", "int", 32, "f", (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
    (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
    (1.5703125, 0.0004837512969970703, 7.549790126404332e-08), 1.5 * 2.0**23, 1e4,
)  # fmt: skip


def scalar_sincos(name: str) -> str:
    """C function ``static void name(int n, const double *x, double *s, double *c)``."""
    body = DOUBLE.reduction.replace("X", "x[i]").replace("\n", "\n        ")
    return f"""static inline void {name}(int n, const double *x, double *s, double *c)
{{
    int i, large = 0;
    for (i = 0; i < n; ++i) {{
        double t, k, r, z, a, b, u, v;
        uint64_t bits;
        {body}
        memcpy(&bits, &t, sizeof bits);
        u = (bits & 1u) ? b : a;
        v = (bits & 1u) ? a : b;
        s[i] = (bits & 2u) ? -u : u;
        c[i] = ((bits + 1u) & 2u) ? -v : v;
        large |= !(fabs(x[i]) <= {DOUBLE.largest!r});
    }}
    if (large) {{
        for (i = 0; i < n; ++i) {{
            s[i] = sin(x[i]);
            c[i] = cos(x[i]);
        }}
    }}
}}
"""


def vector_sincos(name: str, real: Real = DOUBLE) -> str:
    """C functions for the types ``vec`` and ``mask`` of ``LANES`` lanes.

    ``static void name(vec x, vec *s, vec *c, mask *large)`` adds the lanes whose angle is too large to ``large``;
    ``name_exact`` calls the C library for every lane.
    """
    body = real.reduction.replace("X", "x").replace("\n", "\n    ")
    sign, large = real.bits - 2, real.constant(real.largest)
    return f"""static inline void {name}(vec x, vec *s, vec *c, mask *large)
{{
    vec t, k, r, z, a, b;
    mask bits, odd;
    {body}
    bits = (mask)t;
    odd = -(bits & 1);
    *s = (vec)((((mask)b & odd) | ((mask)a & ~odd)) ^ ((bits & 2) << {sign}));
    *c = (vec)((((mask)a & odd) | ((mask)b & ~odd)) ^ (((bits + 1) & 2) << {sign}));
    *large |= ~((x <= {large}) & (x >= -{large}));
}}

static void {name}_exact(vec x, vec *s, vec *c)
{{
    int i;
    for (i = 0; i < LANES; ++i) {{
        (*s)[i] = sin(x[i]);
        (*c)[i] = cos(x[i]);
    }}
}}

static inline int any_lane(mask large)
{{
    long long any = 0;
    int i;
    for (i = 0; i < LANES; ++i)
        any |= large[i];
    return any != 0;
}}
"""


#: Operands written into one expression before it gets a name of its own.
_LONGEST = 6

#: Functions written as expressions: of scalars, of vectors (``vec``, with comparisons giving ``mask``).
_SCALAR = {
    "sign": "(double)(({0} > 0) - ({0} < 0))",
    "less": "(double)({0} < {1})", "less_equal": "(double)({0} <= {1})", "equal": "(double)({0} == {1})",
    "not_equal": "(double)({0} != {1})", "not": "(double)!({0})", "and": "(double)({0} && {1})",
    "or": "(double)({0} || {1})", "if_else_zero": "({0} != 0 ? {1} : 0)",
}  # fmt: skip
_ONE = "(vec)({} & (mask)ONE)"
_VECTOR = {
    "sign": "(" + _ONE.format("({0} > ZERO)") + " - " + _ONE.format("({0} < ZERO)") + ")",
    "less": _ONE.format("({0} < {1})"), "less_equal": _ONE.format("({0} <= {1})"),
    "equal": _ONE.format("({0} == {1})"), "not_equal": _ONE.format("({0} != {1})"),
    "not": _ONE.format("({0} == ZERO)"), "and": _ONE.format("(({0} != ZERO) & ({1} != ZERO))"),
    "or": _ONE.format("(({0} != ZERO) | ({1} != ZERO))"), "if_else_zero": "(vec)(({0} != ZERO) & (mask)({1}))",
    "fabs": "(vec)((mask)({0}) & MAGNITUDE)",
}  # fmt: skip


class Emitter:
    """Writes the statements of one program.

    Parameters
    ----------
    graph
        The program.
    sincos
        Name of the C function that computes sines and cosines, see `scalar_sincos`.
    read
        C expressions of the structural nonzeros of each input.
    write
        C statements that store those of each output, ``{}`` in place of the value; empty: it is not stored.
    vector
        Write for the type ``vec`` instead of ``double``.
    real
        What the entries of ``vec`` are.
    seed
        Number of an input of the type ``vec``, all others being of type ``double``: what follows from it is collected
        in `swept`, and outputs that are zero are not stored.
    """

    def __init__(
        self,
        graph: Graph,
        sincos: str,
        read: Sequence[Sequence[str]],
        write: Sequence[Sequence[str]],
        vector: bool = False,
        seed: int | None = None,
        real: Real = DOUBLE,
    ) -> None:
        self.graph, self.sincos, self.read, self.write, self.vector = graph, sincos, read, write, vector
        self.real = real
        self.zeros = seed is None
        self.live = graph.live()
        self.uses = graph.uses()
        self.lines: list[str] = []
        self.swept: list[str] = []
        self.seeded: set[int] = set()
        for number in self.live if seed is not None else ():
            node = graph[number]
            if node.args[0] == seed if node.op == "input" else not self.seeded.isdisjoint(map(abs, node.args)):
                self.seeded.add(number)
        self.text: dict[int, str] = {}
        self.operands: dict[int, int] = {}
        self.functions: set[tuple[str, int]] = set()

    def statements(self) -> list[str]:
        """All statements, results stored as soon as they are known."""
        results: dict[int, list[tuple[int, int, Ref]]] = {}
        for output, position, ref in self.graph.outputs:
            results.setdefault(abs(ref), []).append((output, position, ref))
        for angles in self._levels():
            self.lines += self._trigonometry(angles)
        for number in self.live:
            self._define(number)
            for output, position, ref in results.get(number, ()):
                value = self._vector_constant(ref) if self.vector else self._operand(ref)
                if (statement := self.write[output][position]) and (self.zeros or value != "0.0"):
                    (self.swept if number in self.seeded else self.lines).append(statement.format(value))
        return self.lines

    # ------------------------------------------------------------------ sines and cosines

    def _levels(self) -> list[list[int]]:
        """Angles whose sine or cosine is needed; those of level i + 1 depend on sines and cosines of level i."""
        level: dict[int, int] = {}
        angles: dict[int, list[int]] = {}
        for number in self.live:
            node = self.graph[number]
            below = max((level[abs(a)] for a in node.needs), default=0)
            if node.op in ("sin", "cos"):
                angle = abs(node.args[0])
                known = angles.setdefault(below, [])
                if angle not in known:
                    known.append(angle)
                below += 1
            level[number] = below
        return [angles[i] for i in sorted(angles)]

    def _define_all(self, wanted: list[int]) -> None:
        stack = list(wanted)
        needed: set[int] = set()
        while stack:
            number = stack.pop()
            if number not in needed and number not in self.text:
                needed.add(number)
                stack += [abs(a) for a in self.graph[number].needs]
        for number in sorted(needed):
            self._define(number)

    @cached_property
    def _numbers(self) -> dict[tuple[str, int], int]:
        """Node number of each sine and cosine, by name and angle."""
        return {
            (node.op, abs(node.args[0])): number
            for number in self.live
            if (node := self.graph[number]).op in ("sin", "cos")
        }

    def _trigonometry(self, angles: list[int]) -> list[str]:
        """Sines and cosines of all angles of a level, which one call computes (vectors: one call each)."""
        self._define_all(angles)
        tag, count, texts = angles[0], len(angles), [self._operand(a) for a in angles]
        if self.vector:
            kind, places = "vec", [(f"sine{angle}", f"cosine{angle}") for angle in angles]
            lines = [f"mask large{tag} = {{0}};"]
            for x, (s, c) in zip(texts, places, strict=True):
                lines += [f"vec {s}, {c};", f"{self.sincos}({x}, &{s}, &{c}, &large{tag});"]
            pairs = zip(texts, places, strict=True)
            exact = " ".join(f"{self.sincos}_exact({x}, &{s}, &{c});" for x, (s, c) in pairs)
            lines.append(f"if (any_lane(large{tag})) {{ {exact} }}")
        else:
            kind, places = "double", [(f"sine{tag}[{i}]", f"cosine{tag}[{i}]") for i in range(count)]
            lines = [
                f"const double angle{tag}[{count}] = {{{', '.join(texts)}}};",
                f"double sine{tag}[{count}], cosine{tag}[{count}];",
                f"{self.sincos}({count}, angle{tag}, sine{tag}, cosine{tag});",
            ]
        for angle, values in zip(angles, places, strict=True):
            for name, value in zip(("sin", "cos"), values, strict=True):
                number = self._numbers.get((name, angle))
                if number is not None:
                    lines.append(f"const {kind} v{number} = {value};")
                    self._named(number)
        return lines

    # ------------------------------------------------------------------ expressions

    def _named(self, number: int) -> None:
        self.text[number] = f"v{number}"
        self.operands[number] = 1

    def _operand(self, ref: Ref) -> str:
        text = self.text[abs(ref)]
        return text if ref > 0 else f"-{text}"

    def _define(self, number: int) -> None:
        """Give a value its C expression, and a name where it is used more than once or has grown long."""
        if number in self.text:
            return
        node = self.graph[number]
        if node.op == "const":
            self.text[number], self.operands[number] = self._constant(node.value), 1
            return
        if node.op == "input":
            expression, size = self.read[node.args[0]][node.args[1]], 1
        else:
            expression = self._expression(number)
            size = sum(self.operands[abs(a)] for a in node.args)
        if self.uses[number] == 1 and size <= _LONGEST and node.op in ("add", "mul"):
            self.text[number], self.operands[number] = f"({expression})", size
            return
        (self.swept if number in self.seeded else self.lines).append(self._assignment(number, expression))
        self._named(number)

    def _assignment(self, number: int, expression: str) -> str:
        return f"const {'vec' if self.vector or number in self.seeded else 'double'} v{number} = {expression};"

    def _constant(self, value: float) -> str:
        return self.real.constant(value) if math.isfinite(value) else "NAN" if math.isnan(value) else "INFINITY"

    def _vector_constant(self, ref: Ref) -> str:
        text = self._operand(ref)
        return f"(ZERO + {text})" if self.graph.number(ref) is not None else text

    def _expression(self, number: int) -> str:
        node = self.graph[number]
        if node.op == "add":
            a, b = node.args
            return f"{self._operand(a)} {'-' if b < 0 else '+'} {self._operand(abs(b))}"
        if node.op == "mul":
            return " * ".join(self._operand(a) for a in node.args)
        if node.op == "div":
            return " / ".join(self._operand(a) for a in node.args)
        if self.vector:
            args = [self._vector_constant(a) for a in node.args]
            if node.op in _VECTOR:
                return _VECTOR[node.op].format(*(f"({a})" for a in args))
            self.functions.add((node.op, len(args)))
            return f"lanes_{node.op}({', '.join(args)})"
        return self._function(node.op, [self._operand(a) for a in node.args])

    def _function(self, name: str, arguments: list[str]) -> str:
        if name in _SCALAR:
            return _SCALAR[name].format(*(f"({a})" if a.startswith("-") else a for a in arguments))
        return f"{name}({', '.join(arguments)})"


def lanes_functions(functions: set[tuple[str, int]]) -> str:
    """C functions that apply functions of the C library lane by lane to vectors."""
    text = ""
    for name, arguments in sorted(functions):
        if not name.isidentifier() or arguments > 2:
            raise ExportError(f"no vector form of the function '{name}'")
        names = "ab"[:arguments]
        text += (
            f"static inline vec lanes_{name}({', '.join(f'vec {a}' for a in names)})\n{{\n    vec y;\n    int i;\n"
            f"    for (i = 0; i < LANES; ++i)\n        y[i] = {name}({', '.join(f'{a}[i]' for a in names)});\n"
            "    return y;\n}\n\n"
        )
    return text


def wrapped(lines: list[str], indent: str = "    ") -> str:
    """Statements, indented and wrapped."""
    return "\n".join(
        textwrap.fill(line, 118, initial_indent=indent, subsequent_indent=indent + "    ", break_long_words=False,
                      break_on_hyphens=False)
        for line in lines
    )  # fmt: skip
