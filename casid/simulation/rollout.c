/* A closed loop, sample by sample, for W rollouts side by side. What depends on plant, controller and integrator is a
   macro, defined before: sizes (W, SIZE, JOINTS, SIGNALS, MEMORY, FELT), the rates of a step (RATES), calls of the
   compiled functions (SENSE, CONTROL, STAGES), reasons of an end. */

#ifndef ALIGNED
#define ALIGNED
#endif

/* counts: ticks, steps a tick, steps of delay, ticks a record, lanes of the reference (1: shared), check of pivots.
   settings: step, period, largest speed. Arrays: entry after entry, lanes side by side. */
int casid_rollout(const long *counts, const double *settings, const double *start, const double *remembered,
                  const double *reference, const double *noise, const double *pi, double *commands, double *states,
                  double *applied, long *ends)
{
    const long ticks = counts[0], per = counts[1], delay = counts[2], every = counts[3], own = counts[4];
    const double limit = settings[2];
    /* Functions of several lanes leave alone what is always zero: their results begin as zeros. */
    ALIGNED double x[SIZE * W], next[SIZE * W] = {0}, u[JOINTS * W], pivots[JOINTS * W] = {0}, unused[JOINTS * W];
    ALIGNED double RATES, point[SIZE * W] = {0};
    ALIGNED double h[W], t[W], r[SIGNALS * W], q[JOINTS * W], dq[JOINTS * W], tau[JOINTS * W] = {0};
    ALIGNED double felt[FELT * W] = {0};
    ALIGNED double memory[(MEMORY + 1) * W], kept[(MEMORY + 1) * W] = {0};
    long tick, step, i;
    int lane, left = W, alive[W];
    (void)unused; (void)point; (void)pi; (void)felt;
    memcpy(x, start, sizeof x);
    memcpy(memory, remembered, MEMORY * W * sizeof(double));
    for (lane = 0; lane < W; ++lane) {
        h[lane] = settings[0];
        alive[lane] = 1;
        ends[2 * lane] = ticks * per;
        ends[2 * lane + 1] = FINISHED;
    }
    for (tick = 0; tick <= ticks; ++tick) {
        for (lane = 0; lane < W; ++lane)
            t[lane] = (double)tick * settings[1];
        for (i = 0; i < SIGNALS; ++i)
            for (lane = 0; lane < W; ++lane)
                r[i * W + lane] = reference[(tick * SIGNALS + i) * own + lane % own];
        memcpy(q, x, sizeof q);
        memcpy(dq, x + JOINTS * W, sizeof dq);
        if (noise)
            for (i = 0; i < JOINTS * W; ++i) {
                q[i] += noise[tick * 2 * JOINTS * W + i];
                dq[i] += noise[(tick * 2 * JOINTS + JOINTS) * W + i];
            }
        SENSE
        CONTROL
        memcpy(memory, kept, MEMORY * W * sizeof(double));
        memcpy(commands + tick * JOINTS * W, tau, sizeof tau);
        for (step = 0; step < per; ++step) {
            const long source = tick * per + step - delay;
            if (source < 0)
                memset(u, 0, sizeof u);
            else
                memcpy(u, commands + source / per * JOINTS * W, sizeof u);
            if (step == 0 && tick % every == 0) {
                memcpy(states + tick / every * SIZE * W, x, sizeof x);
                memcpy(applied + tick / every * JOINTS * W, u, sizeof u);
            }
            if (tick == ticks)
                break;
            STAGES
            for (lane = 0; lane < W; ++lane) {
                long code = FINISHED;
                if (!alive[lane])
                    continue;
                for (i = 0; i < SIZE; ++i)
                    if (!(fabs(next[i * W + lane]) <= 1.7976931348623157e308))
                        code = NOT_FINITE;
                if (code == FINISHED)
                    for (i = JOINTS; i < 2 * JOINTS; ++i)
                        if (fabs(next[i * W + lane]) > limit)
                            code = DIVERGED;
                if (counts[5])
                    for (i = 0; i < JOINTS; ++i)
                        if (!(pivots[i * W + lane] > 0.0))
                            code = INDEFINITE;
                if (code != FINISHED) {
                    alive[lane] = 0;
                    ends[2 * lane] = tick * per + step;
                    ends[2 * lane + 1] = code;
                    --left;
                    continue;
                }
                for (i = 0; i < SIZE; ++i)
                    x[i * W + lane] = next[i * W + lane];
            }
            if (left == 0)
                return 0;
        }
    }
    return 0;
}
