"""Sine and cosine in C, for several angles at once.

A robot needs the sine and cosine of each joint angle, and the library's functions, called one after the other, take
longer than Newton-Euler itself. The code below computes all of them in one loop without branches, which compilers
vectorise, and a vector type goes through the same formulas.

Reduction ``r = x - k pi/2`` with pi/2 in three parts of 33 bits (Cody and Waite 1980), so that ``k part`` is exact for
|k| < 2^20; polynomials of degree 13 and 14 on |r| <= pi/4, interpolated at Chebyshev points; errors of at most 2 units
in the last place, or 1e-20 beside the zeros. Angles beyond 3e5 rad, infinities and NaN go to the C library.
"""

from __future__ import annotations

_SIN = (
    -0.16666666666666666, 0.008333333333330948, -0.00019841269836756774, 2.7557316101617874e-06,
    -2.505113165023518e-08, 1.5918115263265974e-10,
)  # fmt: skip
_COS = (
    0.041666666666666664, -0.0013888888888887398, 2.480158729876456e-05, -2.7557317271145144e-07,
    2.087614614655861e-09, -1.1382623647474604e-11,
)  # fmt: skip
_HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21)
_TWO_OVER_PI = 0.6366197723675814
#: Adding and subtracting 1.5 * 2^52 rounds to an integer, which then stands in the low bits.
_ROUND = 6755399441055744.0
_LARGEST = 3e5


def _horner(coefficients: tuple[float, ...]) -> str:
    text = repr(coefficients[-1])
    for value in reversed(coefficients[:-1]):
        text = f"{value!r} + z * ({text})" if "z" in text else f"{value!r} + z * {text}"
    return text.replace("+ z * -", "- z * ").replace("+ -", "- ")


_REDUCE = f"""t = X * {_TWO_OVER_PI!r} + {_ROUND!r};
k = t - {_ROUND!r};
r = ((X - k * {_HALF_PI[0]!r}) - k * {_HALF_PI[1]!r}) - k * {_HALF_PI[2]!r};
z = r * r;
a = r + r * z * ({_horner(_SIN)});
b = 1.0 - (0.5 * z - z * z * ({_horner(_COS)}));"""


def scalar_sincos(name: str) -> str:
    """C function ``static void name(int n, const double *x, double *s, double *c)``."""
    body = _REDUCE.replace("X", "x[i]").replace("\n", "\n        ")
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
        large |= !(fabs(x[i]) <= {_LARGEST!r});
    }}
    if (large) {{
        for (i = 0; i < n; ++i) {{
            s[i] = sin(x[i]);
            c[i] = cos(x[i]);
        }}
    }}
}}
"""


def vector_sincos(name: str) -> str:
    """C functions for the types ``vec`` and ``mask`` of ``WIDTH`` lanes.

    ``static void name(vec x, vec *s, vec *c, mask *large)`` adds the lanes whose angle is too large to ``large``;
    ``name_exact`` calls the C library for every lane.
    """
    body = _REDUCE.replace("X", "x").replace("\n", "\n    ")
    return f"""static inline void {name}(vec x, vec *s, vec *c, mask *large)
{{
    vec t, k, r, z, a, b;
    mask bits, odd;
    {body}
    bits = (mask)t;
    odd = -(bits & 1);
    *s = (vec)((((mask)b & odd) | ((mask)a & ~odd)) ^ ((bits & 2) << 62));
    *c = (vec)((((mask)a & odd) | ((mask)b & ~odd)) ^ (((bits + 1) & 2) << 62));
    *large |= ~((x <= {_LARGEST!r}) & (x >= -{_LARGEST!r}));
}}

static void {name}_exact(vec x, vec *s, vec *c)
{{
    int i;
    for (i = 0; i < WIDTH; ++i) {{
        (*s)[i] = sin(x[i]);
        (*c)[i] = cos(x[i]);
    }}
}}

static inline int any_lane(mask large)
{{
    long long any = 0;
    int i;
    for (i = 0; i < WIDTH; ++i)
        any |= large[i];
    return any != 0;
}}
"""
