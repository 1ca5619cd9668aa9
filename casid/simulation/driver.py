"""The closed loop in C: controller, delay, integrator, checks and recording, for one rollout or more side by side."""

from __future__ import annotations

from collections.abc import Sequence

from casid.codegen._library import PREFIX
from casid.codegen._source import WIDTH, CFunction, batch_source, scalar_source

#: Codes of why a rollout ended.
ENDED_IN_TIME, INDEFINITE, NOT_FINITE, DIVERGED = 0, 1, 2, 3

#: The loop, with what depends on plant, controller and integrator left open.
TEMPLATE = """
#define W {width}
#define SIZE {size}
#define JOINTS {joints}
#define SIGNALS {signals}
#ifndef ALIGNED
#define ALIGNED
#endif

/* counts: ticks, steps a tick, steps of delay, ticks a record, lanes of the reference (1: shared), check of pivots.
   settings: step, period, largest speed. Arrays: entry after entry, lanes side by side. */
int casid_rollout(const long *counts, const double *settings, const double *start, const double *reference,
                  const double *noise, const double *pi, double *commands, double *states, double *applied, long *ends)
{{
    const long ticks = counts[0], per = counts[1], delay = counts[2], every = counts[3], own = counts[4];
    const double limit = settings[2];
    /* Functions of several lanes leave alone what is always zero: their results begin as zeros. */
    ALIGNED double x[SIZE * W], next[SIZE * W] = {{0}}, u[JOINTS * W], pivots[JOINTS * W] = {{0}}, unused[JOINTS * W];
    ALIGNED double {rates}, point[SIZE * W] = {{0}};
    ALIGNED double h[W], t[W], r[SIGNALS * W], q[JOINTS * W], dq[JOINTS * W], tau[JOINTS * W] = {{0}};
    long tick, step, i;
    int lane, left = W, alive[W];
    (void)unused; (void)point; (void)pi;
    memcpy(x, start, sizeof x);
    for (lane = 0; lane < W; ++lane) {{
        h[lane] = settings[0];
        alive[lane] = 1;
        ends[2 * lane] = ticks * per;
        ends[2 * lane + 1] = {finished};
    }}
    for (tick = 0; tick <= ticks; ++tick) {{
        for (lane = 0; lane < W; ++lane)
            t[lane] = (double)tick * settings[1];
        for (i = 0; i < SIGNALS; ++i)
            for (lane = 0; lane < W; ++lane)
                r[i * W + lane] = reference[(tick * SIGNALS + i) * own + lane % own];
        memcpy(q, x, sizeof q);
        memcpy(dq, x + JOINTS * W, sizeof dq);
        if (noise)
            for (i = 0; i < JOINTS * W; ++i) {{
                q[i] += noise[tick * 2 * JOINTS * W + i];
                dq[i] += noise[(tick * 2 * JOINTS + JOINTS) * W + i];
            }}
        {prefix}control{suffix}(t, r, q, dq, tau);
        memcpy(commands + tick * JOINTS * W, tau, sizeof tau);
        for (step = 0; step < per; ++step) {{
            const long source = tick * per + step - delay;
            if (source < 0)
                memset(u, 0, sizeof u);
            else
                memcpy(u, commands + source / per * JOINTS * W, sizeof u);
            if (step == 0 && tick % every == 0) {{
                memcpy(states + tick / every * SIZE * W, x, sizeof x);
                memcpy(applied + tick / every * JOINTS * W, u, sizeof u);
            }}
            if (tick == ticks)
                break;
{stages}
            for (lane = 0; lane < W; ++lane) {{
                long code = {finished};
                if (!alive[lane])
                    continue;
                for (i = 0; i < SIZE; ++i)
                    if (!(fabs(next[i * W + lane]) <= 1.7976931348623157e308))
                        code = {not_finite};
                if (code == {finished})
                    for (i = JOINTS; i < 2 * JOINTS; ++i)
                        if (fabs(next[i * W + lane]) > limit)
                            code = {diverged};
                if (counts[5])
                    for (i = 0; i < JOINTS; ++i)
                        if (!(pivots[i * W + lane] > 0.0))
                            code = {indefinite};
                if (code != {finished}) {{
                    alive[lane] = 0;
                    ends[2 * lane] = tick * per + step;
                    ends[2 * lane + 1] = code;
                    --left;
                    continue;
                }}
                for (i = 0; i < SIZE; ++i)
                    x[i * W + lane] = next[i * W + lane];
            }}
            if (left == 0)
                return 0;
        }}
    }}
    return 0;
}}
"""


def loop_source(functions: Sequence[CFunction], stages: int, parametric: bool, lanes: int) -> str:
    """C source of the closed loop.

    Parameters
    ----------
    functions
        ``rate``, ``control``, ``point2 ...`` and ``advance``.
    stages
        Rates a step.
    parametric
        Whether the plant's parameters are an argument.
    lanes
        Rollouts side by side: 1, or the width of batched code.
    """
    rate = next(f for f in functions if f.name == f"{PREFIX}rate")
    control = next(f for f in functions if f.name == f"{PREFIX}control")
    suffix = "" if lanes == 1 else "_block"
    names = [f"k{i + 1}" for i in range(stages)]
    extra = ", pi" if parametric else ""
    lines = [f"{PREFIX}rate{suffix}(x, u{extra}, k1, pivots);"]
    for i in range(1, stages):
        lines.append(f"{PREFIX}point{i + 1}{suffix}(x, {', '.join(names[:i])}, h, point);")
        lines.append(f"{PREFIX}rate{suffix}(point, u{extra}, {names[i]}, unused);")
    lines.append(f"{PREFIX}advance{suffix}(x, {', '.join(names)}, h, next);")
    text = TEMPLATE.format(
        width=lanes,
        size=rate.inputs[0].size,
        joints=rate.inputs[1].size,
        signals=control.inputs[1].size,
        rates=", ".join(f"{name}[SIZE * W] = {{0}}" for name in names),
        prefix=PREFIX,
        suffix=suffix,
        stages="\n".join(" " * 12 + line for line in lines),
        finished=ENDED_IN_TIME,
        indefinite=INDEFINITE,
        not_finite=NOT_FINITE,
        diverged=DIVERGED,
    )
    source = scalar_source if lanes == 1 else batch_source
    return source(list(functions), "casid") + text


#: Rollouts that compiled code computes side by side.
LANES = WIDTH
