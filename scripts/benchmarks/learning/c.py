"""Row: identification on line as C: times, warnings, sanitizers."""

from __future__ import annotations

import re
import subprocess
import tempfile
import timeit
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import casid
from benchmarks.learning.online import plausible
from benchmarks.measure import Measure, NotMeasured, need
from benchmarks.recordings import panda, panda_model
from casid.codegen import find_compiler
from casid.description import write_robot
from casid.inertia import to_standard
from casid.online import Online, OnlineLoad, export_online
from casid.regression import compress, wls

#: Bars of an update and of a warm estimate [us].
_UPDATE, _WARM = {"robot": 100.0, "load": 10.0}, 5000.0
_PASSES, _UPDATES = 3, 100_000


def exported() -> tuple[str, bool]:
    """1e5 updates in C, a whole-robot filter of 64 columns and a load, three times the same.

    What another process or an interrupt takes falls on other updates in each pass: the worst update of the program is
    the largest of each update's fastest pass. The largest time of all passes is printed beside it.
    """
    if find_compiler() is None:
        raise NotMeasured("needs a C compiler")
    model, data = panda_model(), panda()
    fit = wls(compress(model, data))
    pi = np.linalg.lstsq(model.base.K, fit.beta, rcond=None)[0]
    body = to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))
    rows = np.concatenate([data.q, data.dq, data.ddq, data.tau], axis=1)
    estimators: dict[str, Online | OnlineLoad] = {
        "robot": Online.from_fit(fit, plausible(model), forgetting=0.999),
        "load": OnlineLoad(model, pi, fit.weights, body, forgetting=0.999),
    }
    texts, ok = [], True
    with tempfile.TemporaryDirectory() as folder:
        for name, estimator in estimators.items():
            text, good = _raced(estimator, name, Path(folder) / name, rows)
            texts.append(text)
            ok &= good
    beside = f"one Pinocchio regressor call (Python binding) {_pinocchio(rows):.1f} us"
    return "; ".join([*texts, beside]), ok


def _raced(estimator: Online | OnlineLoad, name: str, folder: Path, rows: NDArray[np.float64]) -> tuple[str, bool]:
    export_online(estimator, folder, name)
    (folder / "race.c").write_text(_RACE.replace("NAME", name))
    np.ascontiguousarray(rows).tofile(folder / "samples")

    def build(program: str, *flags: str) -> None:
        command = ["cc", "-std=gnu99", *flags, "-o", program, "race.c", f"{name}.c", "-lm"]
        subprocess.run(command, cwd=folder, check=True)

    def run(program: str, updates: int, passes: int) -> subprocess.CompletedProcess[str]:
        command = [f"./{program}", str(len(rows)), str(updates), str(passes)]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True)

    flags = "-std=c99 -O3 -march=native -Wall -Wextra -Wpedantic -Werror"
    subprocess.run(["make", f"CFLAGS={flags}", "example"], cwd=folder, check=True, capture_output=True)
    build("race", "-O3", "-march=native", "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc")
    out = run("race", _UPDATES, _PASSES)
    if out.returncode:
        return f"{name}: the program returned {out.returncode} (2: a bad sample was taken)", False
    mean, worst, rare, single, switches, cold, warm, gap, allocated = (float(v) for v in out.stdout.split())
    build("safe", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DSAFE")
    clean = run("safe", len(rows), 1).returncode == 0
    calls = re.findall(r"\b(?:malloc|calloc|realloc|alloca)\b", (folder / f"{name}.c").read_text())
    text = (
        f"{name}: update mean {mean:.1f}, worst {worst:.1f} us (CPU; single pass: 99.99 % {rare:.0f}, worst "
        f"{single:.0f}, interrupted {switches:.0f}), estimate cold {cold:.0f}, warm {warm:.0f} us (gap {gap:.0e}), "
        f"{allocated:.0f} allocations, no warnings, bad samples refused, sanitizers {'clean' if clean else 'NOT clean'}"
    )
    good = worst <= _UPDATE[name] and warm <= _WARM and clean and not calls and allocated == 0.0
    return text, good


def _pinocchio(rows: NDArray[np.float64]) -> float:
    """Microseconds of one regressor call on a Panda's description."""
    pin = need("pinocchio")
    file = casid.load_robot("panda")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "panda.urdf"
        write_robot(file, path)
        model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    q, dq, ddq = (rows[0, k * 7 : k * 7 + 7] for k in range(3))
    call = lambda: pin.computeJointTorqueRegressor(model, data, q, dq, ddq)  # noqa: E731
    return min(timeit.repeat(call, number=20, repeat=200)) / 20 * 1e6


_RACE = r"""
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include "NAME.h"
static NAME_state s, kept;
static long allocations, counting;
#ifndef SAFE
void *__real_malloc(size_t n), *__real_calloc(size_t m, size_t n), *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n) { allocations += counting; return __real_malloc(n); }
void *__wrap_calloc(size_t m, size_t n) { allocations += counting; return __real_calloc(m, n); }
void *__wrap_realloc(void *p, size_t n) { allocations += counting; return __real_realloc(p, n); }
#endif
static double us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}
static long switches(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_nivcsw;
}
static int order(const void *a, const void *b) {
    double x = *(const double *)a - *(const double *)b;
    return (x > 0) - (x < 0);
}
static double rows[30000][28], best[100000], last[100000];
int main(int argc, char **argv) {
    if (argc != 4) return 1;
    int n = atoi(argv[1]), updates = atoi(argv[2]), passes = atoi(argv[3]);
    FILE *f = fopen("samples", "rb");
    if (!f || fread(rows, sizeof rows[0], (size_t)n, f) != (size_t)n) return 1;
    fclose(f);
    double total = 0, single = 0, worst = 0;
    long before = switches();
    counting = 1;
    for (int pass = 0; pass < passes; pass++) {
        NAME_init(&s);
        for (int k = 0; k < updates; k++) {
            double *r = rows[k % n], t = us();
            NAME_update(&s, r, r + 7, r + 14, r + 21);
            t = us() - t;
            last[k] = t;
            if (!pass || t < best[k]) best[k] = t;
            if (t > single) single = t;
            if (k == n - 1) NAME_estimate(&s, 100);
        }
    }
    long others = switches() - before;
    for (int k = 0; k < updates; k++) {
        total += best[k];
        if (best[k] > worst) worst = best[k];
    }
    NAME_init(&s);
    for (int k = 0; k < n; k++) NAME_update(&s, rows[k], rows[k] + 7, rows[k] + 14, rows[k] + 21);
    for (int k = 0; k < 28; k++) /* a bad number anywhere: refused, and no bit of the state changes */
        for (int kind = 0; kind < 3; kind++) {
            double r[28];
            memcpy(r, rows[0], sizeof r);
            r[k] = kind == 0 ? NAN : kind == 1 ? -INFINITY : 1e200;
            kept = s;
            if (NAME_update(&s, r, r + 7, r + 14, r + 21) != 1 || memcmp(&kept, &s, sizeof s)) return 2;
        }
    double t = us();
    NAME_estimate(&s, 100);
    double cold = us() - t;
    for (int k = 0; k < 100; k++) NAME_update(&s, rows[k], rows[k] + 7, rows[k] + 14, rows[k] + 21);
    t = us();
    NAME_estimate(&s, 100);
    double warm = us() - t;
    counting = 0;
    qsort(last, (size_t)updates, sizeof(double), order);
    printf("%g %g %g %g %ld %g %g %g %ld\n", total / updates, worst, last[(int)(updates * 0.9999)], single, others,
           cold, warm, s.suboptimality, allocations);
    return 0;
}
"""


ROWS = [
    Measure(
        "exported C, Panda, one core: 1e5 updates",
        "update <= 100 us (64 columns), <= 10 us (load); refresh <= 5 ms warm; no allocation; sanitizers clean",
        "TAG-K, RLS",
        exported,
    ),
]
