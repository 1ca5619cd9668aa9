"""On-line identification as C: update with a sample, estimate physical parameters, no allocation."""

from __future__ import annotations

import warnings
from importlib import resources
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ROUNDING, Array
from casid.codegen import CFunction, check_identifier, scalar_source
from casid.errors import ExportError
from casid.export import ExportedDirectory, beside, comment, described, folded, guarded, numbered
from casid.files import check_target, write_directory
from casid.inertia import STANDARD_NAMES
from casid.inertia.entropic import DECREASE, FIRST, KEPT, SETTLED, SLOW, SMALLEST, STEEPEST, WARM, Plausible
from casid.online import Online
from casid.online._online_load import OnlineLoad
from casid.online._samples import LARGEST, regressor_rows
from casid.version import __version__

#: What every exported estimator includes.
_PARTS = "online_filter.h", "online_core.h"
#: The self-test: samples, steps of the estimate, and by how much of the largest parameter it may differ from Python's.
_SAMPLES, _ITERATIONS, _AGREEMENT = 60, 100, 1e-5
_STRUCT = """
typedef struct {{
    double x[{nx}];             /* {unknowns} */
    double suboptimality;       /* proven: no physical x has an objective smaller by more than this; or infinite */
    int iterations;             /* Newton steps of the last estimate */
    double R[{nr}][{nr}], rho[{nr}], rest, count; /* information: |rho - R p|^2 + rest */
    double weight, decrease;    /* of the divergence on a central path that was cut short (0: none), its last factor */
    int stage, used, tried;     /* Newton steps at this weight, along the path, and since then without a proof */
    double slope0[{nl}][10], logdet0[{nl}];
    double A[{nr}][{nx}], H0[{nx}][{nx}], H[{nx}][{nx}], trial[{nx}];
}} {name}_state;

/* Start without any data; x are the plausible values. */
void {name}_init({name}_state *s);
/* One sample: joint positions [rad, m], velocities, accelerations, torques [N.m, N].
   0: done; 1: a number is not finite or too large to be measured, and the state is as it was. */
int {name}_update(
    {name}_state *s, const double q[{n}], const double dq[{n}], const double ddq[{n}], const double tau[{n}]);
/* Physically consistent parameters of all that was seen, into s->x, in so many Newton steps at most.
   0: converged. 1: not converged: x is physical, but not yet the estimate (s->suboptimality says by how much, where it
   is finite); the next call goes on from there, with the samples that have come since. 2: stopped by rounding. */
int {name}_estimate({name}_state *s, int iterations);
"""


def export_online(
    online: Online | OnlineLoad, out: str | Path, prefix: str, *, overwrite: bool = False
) -> ExportedDirectory:
    """Write an on-line estimator as C99 that is also warning-free with -Wall -Wextra -Wpedantic.

    Parameters
    ----------
    online
        The estimator: its model, weights, plausible bodies, forgetting and mu are folded in, its samples are not.
    out
        Folder to make: ``<prefix>.h``, ``<prefix>.c``, ``online_filter.h``, ``online_core.h``, ``example.c``,
        ``test.c`` and ``Makefile``: ``make test`` compares estimates with those of Python from the same samples.
    prefix
        Beginning of all names.
    overwrite
        Replace files of an earlier export in the same folder.

    Raises
    ------
    ExportError
        If the prefix is no C identifier, or the folder exists or cannot be written.
    """
    check_identifier(prefix, "prefix")
    target = Path(out)
    check_target(target, overwrite)
    if isinstance(online, Online):
        rows, combine, names, words = _robot_rows(online)
    else:
        rows, combine, names, words = _load_rows(online)
    n, plausible = online.model.n, online.plausible
    function = CFunction(rows, f"{prefix}_rows")
    sizes = {
        "n": n, "nr": combine.shape[0], "nl": len(plausible.bodies), "nx": combine.shape[1], "name": prefix,
        "unknowns": ", ".join(names),
    }  # fmt: skip
    header = comment([f"Written by casid {__version__}: {words}", "", *_notes(online, names)])
    header += guarded(prefix, _STRUCT.lstrip("\n").format(**sizes) + "\n")
    source = f'#include "{prefix}.h"\n\n#include <math.h>\n#include <string.h>\n\n'
    declaration = function.declaration.rstrip(";")  # private to the file
    source += scalar_source([function], prefix).replace(declaration, f"static {declaration}", 1)
    source += _constants(online, plausible, combine, sizes)
    source += _rows_call(function, n)
    source += f'#define NAME(suffix) {prefix}##suffix\n#include "online_filter.h"\n#include "online_core.h"\n'
    contents = {
        f"{prefix}.h": header,
        f"{prefix}.c": source,
        **{name: resources.files("casid.online").joinpath(name).read_text(encoding="utf-8") for name in _PARTS},
        "example.c": _example(prefix, n, len(names)),
        "test.c": _self_test(online, prefix, len(names)),
        "Makefile": _MAKEFILE.replace("PREFIX", prefix),
        **beside(online.model.robot, notes=_notes(online, names)),
    }
    write_directory(target, contents, overwrite=overwrite)
    return ExportedDirectory(target, tuple(contents), (function,))


def _notes(online: Online | OnlineLoad, names: list[str]) -> list[str]:
    """Paragraphs for the head of the header: what x is, in which frames and units, and what is folded in."""
    model = online.model
    robot, tail = model.robot, model.robot.links[-1].name
    listed = ", ".join(f"[{i}] {name}" for i, name in enumerate(names))
    frame = f"the frame of link '{tail}'" if isinstance(online, OnlineLoad) else "each link's own frame"
    notes = [
        *described(model),
        f"x[{len(names)}]: {listed}. Of bodies in {frame}: L the inertia about its origin [kg.m^2], l = m c the first "
        "moment [kg.m], m the mass [kg].",
        f"q, dq, ddq, tau: in the order of the joints, {', '.join(joint.name for joint in robot.coordinates)}.",
        f"Deviation of the torques from the model's: {numbered(1.0 / online.weights)} N.m (N). Forgetting: what a "
        f"sample speaks about keeps the share {online.forgetting:g} of its weight (1: nothing is forgotten).",
    ]
    if isinstance(online, OnlineLoad):
        notes += folded(model, online.parameters, "Parameters of the robot without the load")
        notes.append(
            "There is no detector of changes: after the load has changed, call _init, or let old samples be forgotten "
            "(OnlineLoad of casid in Python detects changes)."
        )
    return notes


def _robot_rows(online: Online) -> tuple[ca.Function, Array, list[str], str]:
    """Regressor and torques of the whole robot, and how its filter's parameters follow from the unknowns."""
    model = online.model
    names = [model.parameter_names[c] for c in online.order]
    rows = _rows(online, list(range(model.base.rank)), np.zeros(model.base.rank))
    return rows, model.base.K[:, online.order], names, f"Links and joint terms of {model.robot.name}."


def _rows(online: Online | OnlineLoad, columns: list[int], parameters: Array) -> ca.Function:
    """``(q, dq, ddq[, signal]) -> (Y, known)`` with ``Y p = tau - known``: columns of a regressor, known torques."""
    inputs = {name: ca.SX.sym(name, online.model.n) for name in online.regressor.name_in()}
    Y = online.regressor(*inputs.values())
    outputs = [ca.densify(Y[:, columns]), ca.densify(ca.mtimes(Y, parameters))]
    return ca.Function("rows", list(inputs.values()), outputs, list(inputs), ["Y", "known"], {"cse": True})


def _load_rows(online: OnlineLoad) -> tuple[ca.Function, Array, list[str], str]:
    """Regressor of a body on the last link, and the torque of the robot without it."""
    if online.correlation.any():
        raise ExportError("the C code of a load has no correlated residuals; export an estimator without")
    if online.by_state:
        raise ExportError(
            "the C code of a load has one deviation a joint; export an estimator without TorqueErrors.state"
        )
    rows = _rows(online, list(online.model.link_columns[-1]), online.parameters)
    return rows, np.eye(10), list(STANDARD_NAMES), f"A load on the last link of {online.model.robot.name}."


def _rows_call(function: CFunction, n: int) -> str:
    signal = ", tau" if len(function.inputs) == 4 else ""
    return (
        "static void rows_of(const double *q, const double *dq, const double *ddq, const double *tau, double *Y,\n"
        "                    double *e) {\n"
        f"    {function.name}(q, dq, ddq{signal}, Y, e);\n"
        f"    for (int j = 0; j < {n}; j++) e[j] = tau[j] - e[j];\n}}\n#define ROWS rows_of\n"
    )


def _constants(online: Online | OnlineLoad, plausible: Plausible, combine: Array, sizes: dict[str, object]) -> str:
    text = f"#define NQ {sizes['n']}\n#define NJ {sizes['n']}\n#define NR {sizes['nr']}\n#define NL {sizes['nl']}\n"
    text += f"#define NPOS {len(plausible.positive)}\n#define NFREE {len(plausible.free)}\n#define NX {sizes['nx']}\n"
    text += f"#define KEEP {online.forgetting!r}\n#define MU {online.mu!r}\n#define LARGEST {LARGEST!r}\n"
    text += f"#define WARM {WARM}\n#define FIRST {FIRST!r}\n#define SMALLEST {SMALLEST!r}\n"
    text += f"#define STEEPEST {STEEPEST!r}\n#define SLOW {SLOW}\n#define KEPT {KEPT!r}\n"
    text += f"#define SETTLED {SETTLED!r}\n#define DECREASE {DECREASE!r}\n#define SILENT {ROUNDING!r}\n"
    arrays: dict[str, ArrayLike] = {
        "WEIGHTS": online.weights,
        "COMBINE": combine,
        "BODIES": plausible.bodies,
        "POSITIVE": np.append(plausible.positive, 1.0),
        "FREE": np.append(plausible.free, 1.0),
    }
    for name, values in arrays.items():
        flat = np.ravel(np.asarray(values, dtype=float))
        body = ",\n    ".join(", ".join(repr(float(v)) for v in flat[i : i + 6]) for i in range(0, len(flat), 6))
        text += f"static const double {name}[{len(flat)}] = {{\n    {body}}};\n"
    return text


def _example(prefix: str, n: int, count: int) -> str:
    return f"""#include <stdio.h>

#include "{prefix}.h"

static {prefix}_state state; /* about {(count * count * 2 + count * 200) * 8 // 1024} kB: not on a small stack */

int main(void) {{
    double q[{n}] = {{0}}, dq[{n}] = {{0}}, ddq[{n}] = {{0}}, tau[{n}] = {{0}};
    {prefix}_init(&state);
    for (int k = 0; k < 1000; k++) {{ /* in the control loop: measured samples */
        for (int j = 0; j < {n}; j++) q[j] = 0.001 * k * (j + 1);
        if ({prefix}_update(&state, q, dq, ddq, tau)) return 1;
    }}
    int status = 1;
    for (int call = 0; call < 50 && status == 1; call++) /* outside of it, as often as wanted; 1: it goes on */
        status = {prefix}_estimate(&state, 20);
    printf("%sconverged, within %g of the optimum\\n", status ? "not " : "", state.suboptimality);
    for (int i = 0; i < {count}; i++) printf("%.6g\\n", state.x[i]);
    return 0;
}}
"""


def _self_test(online: Online | OnlineLoad, prefix: str, count: int) -> str:
    """A program that feeds the estimator samples of a plausible robot, and compares with Python's estimate of them."""
    model, rng, bodies = online.model, np.random.default_rng(0), online.plausible.bodies
    fresh: Online | OnlineLoad
    if isinstance(online, Online):
        fresh = Online(model, online.weights, online.plausible, online.forgetting, online.mu)
        truth = np.full(len(model.parameter_names), 0.1)
        truth[np.ravel(model.link_columns)] = bodies.ravel()
    else:
        fresh = OnlineLoad(model, online.parameters, online.weights, bodies[0], online.forgetting, online.mu)
        truth = online.parameters.copy()
        truth[list(model.link_columns[-1])] += bodies[0]
    q, dq, ddq = (rng.uniform(-limit, limit, (_SAMPLES, model.n)) for limit in (1.0, 1.0, 3.0))
    tau = regressor_rows(model.regressor, {"q": q, "dq": dq, "ddq": ddq, "tau": np.zeros_like(q)}) @ truth
    tau = tau + rng.normal(size=q.shape) / online.weights
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few samples: what the estimate leaves open is no matter here
        fresh.update(q, dq, ddq, tau)
        expected = fresh.estimate(_ITERATIONS).entropic.x
    rows = ",\n".join(
        "{" + ", ".join("{" + ", ".join(f"{x:.17g}" for x in part) + "}" for part in sample) + "}"
        for sample in zip(q, dq, ddq, tau, strict=True)
    )
    return f"""#include <math.h>
#include <stdio.h>

#include "{prefix}.h"

/* Samples: q, dq, ddq, tau; and the estimate that casid makes of them in Python. */
static const double samples[{_SAMPLES}][4][{model.n}] = {{
{rows}
}};
static const double expected[{count}] = {{{", ".join(f"{x:.17g}" for x in expected)}}};
static {prefix}_state state;

int main(void) {{
    double worst = 0.0, largest = 0.0;
    {prefix}_init(&state);
    for (int k = 0; k < {_SAMPLES}; k++)
        if ({prefix}_update(&state, samples[k][0], samples[k][1], samples[k][2], samples[k][3])) return 1;
    if ({prefix}_estimate(&state, {_ITERATIONS})) return 1;
    for (int i = 0; i < {count}; i++) {{
        worst = fmax(worst, fabs(state.x[i] - expected[i]));
        largest = fmax(largest, fabs(expected[i]));
    }}
    printf("largest deviation %.1e of the largest parameter: %s\\n", worst / largest,
           worst <= {_AGREEMENT} * largest ? "passed" : "FAILED");
    return worst <= {_AGREEMENT} * largest ? 0 : 1;
}}
"""


_MAKEFILE = """CC ?= cc
CFLAGS ?= -std=c99 -O3 -march=native -Wall -Wextra -Wpedantic

example: example.c PREFIX.c PREFIX.h online_filter.h online_core.h
\t$(CC) $(CFLAGS) -o $@ example.c PREFIX.c -lm

libPREFIX.so: PREFIX.c PREFIX.h online_filter.h online_core.h
\t$(CC) $(CFLAGS) -fPIC -shared -o $@ PREFIX.c -lm

test: test.c PREFIX.c PREFIX.h online_filter.h online_core.h
\t$(CC) $(CFLAGS) -o self_test test.c PREFIX.c -lm && ./self_test

clean:
\trm -f example self_test libPREFIX.so
.PHONY: clean test
"""
