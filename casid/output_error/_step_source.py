"""The recursion of `casid.output_error._rollout` around the generated functions, in C."""

from __future__ import annotations

from casid.output_error._step_laws import LAWS

STEP = (
    LAWS
    + r"""
int casid_rollout(long steps, long params, long P, long encoder, const double *h_, const double *u_, const double *du_,
                  const double *on_, const double *torque_, const double *clock_, const long long *emit,
                  const double *par, const long long *kind, const long long *joint, double *x, double *q_out,
                  double *S_out, double *work)
{
    double *Sq = work, *Sv = work + N * P, *Sw = work + 2 * N * P, *Sz = work + 3 * N * P, *R = work + 4 * N * P;
    double q[N], v[N], s[INPUTS], fc[N], fe[N]; /* s: factors of the bodies, then the base's tilt */
    double wound[N]; /* torque of the servo's integral */
    int mode[N], sticks[N], set[N], sat[N], side[LINKS], i, j, k, m = 0, warms = 0, bristles = 0, winds = 0;
    Bristle brush[N];
    const int shown = N > LINKS && encoder == 2 ? LINKS : 0; /* first coordinate that the encoders show */
    const int follow = N > LINKS && encoder == 1 ? LINKS : 0; /* an encoder of the link is so many before its drive */
    long t, c, row = 0;
    s[LINKS] = par[TILT_X], s[LINKS + 1] = par[TILT_Y];
    memset(work, 0, sizeof(double) * (size_t)(5 * N * (P ? P : 1)));
    for (c = 0; c < params; ++c) warms |= kind[c] == WARM, winds |= kind[c] == KI; /* a derivative is asked for */
    for (i = 0; i < N; ++i) {
        const double *p = PAR(i);
        q[i] = x[i % LINKS], v[i] = x[LINKS + i % LINKS], s[i % LINKS] = p[SCALE];
        fc[i] = DRIVEN(i) && (p[FC] > 0.0 || p[FL] > 0.0 || p[FS] > 0.0) ? 1.0 : 0.0;
        brush[i].w = 0.0, brush[i].grip = fc[i] > 0.0 && p[BRISTLE] < STIFF ? 1.0 : 0.0;
        if (brush[i].grip > 0.0) fc[i] = 0.0, bristles = 1;
        wound[i] = 0.0, winds |= p[KI] > 0.0;
        sat[i] = side[i % LINKS] = 0;
        sticks[i] = fc[i] > 0.0 && v[i] == 0.0;
        mode[i] = fc[i] > 0.0 ? (v[i] > 0.0) - (v[i] < 0.0) : 0;
        if (P > params) Sq[i * P + params + i % LINKS] = Sv[i * P + params + LINKS + i % LINKS] = 1.0;
    }
    if (N > LINKS) { /* springs begin at rest under the load: the coordinate that no encoder shows follows from it */
        double M[N * N], b[N];
        MOTION(q, v, s, M, b);
        for (i = 0; i < LINKS; ++i) {
            const double *p = PAR(i), sign = shown ? -1.0 : 1.0, up = b[i] > 0.0 ? 1.0 : -1.0;
            const int hidden = shown ? i : LINKS + i;
            q[hidden] += sign * (0.5 * p[GAP] * up + (p[KJ] < STIFF ? b[i] / p[KJ] : 0.0)) + x[2 * LINKS + i];
            v[hidden] += x[3 * LINKS + i];
            if (P > params)
                Sq[hidden * P + params + 2 * LINKS + i] = Sv[hidden * P + params + 3 * LINKS + i] = 1.0;
            side[i] = (int)up;
            for (c = 0; c < params; ++c)
                if (joint[c] < 0 || joint[c] == i)
                    Sq[hidden * P + c] = kind[c] == GAP                   ? sign * 0.5 * up
                                         : kind[c] == KJ && p[KJ] < STIFF ? -sign * b[i] / (p[KJ] * p[KJ])
                                                                          : 0.0;
        }
    }
    if (winds && steps) { /* an integral begins as what holds the motion */
        double M[N * N], b[N], a[N] = {0.0}, Gq[N * N], Gv[N * N], Gs[N * INPUTS];
        MOTION(q, v, s, M, b);
        if (P) SLOPES(q, v, a, s, Gq, Gv, Gs);
        for (i = N - LINKS; i < N; ++i) {
            const double *p = PAR(i), o = on_[i % LINKS], err = o * (u_[i % LINKS] + p[BIAS] - q[i - follow]);
            const Viscous slow = viscous_of(p, v[i]);
            const double damping = slow.value + o * p[KD] + p[EMF];
            if (o == 0.0) continue;
            wound[i] = b[i % LINKS] + constant_of(p, clock_[0]) + damping * v[i] - p[KP] * err - torque_[i % LINKS];
            for (c = 0; c < P; ++c) {
                const long long what = c < params && (joint[c] < 0 || joint[c] == i % LINKS) ? kind[c] : -1;
                double sum = what == KP     ? -err
                             : what == BIAS ? -o * p[KP]
                             : what == FO   ? 1.0
                             : what == FOD  ? clock_[0]
                             : what == FV   ? slow.in_mean * v[i]
                             : what == FVA  ? slow.in_half * v[i]
                             : what == KD   ? o * v[i]
                             : what == EMF  ? v[i]
                                            : 0.0;
                for (j = 0; j < LINKS; ++j) {
                    sum += Gq[i % LINKS * N + j] * Sq[j * P + c] + Gv[i % LINKS * N + j] * Sv[j * P + c];
                    if (c < params && kind[c] == SCALE && joint[c] == j) sum += Gs[i % LINKS * INPUTS + j];
                }
                if (c < params && (kind[c] == TILT_X || kind[c] == TILT_Y))
                    sum += Gs[i % LINKS * INPUTS + LINKS + (kind[c] == TILT_Y)];
                Sz[i * P + c] = sum + o * p[KP] * Sq[(i - follow) * P + c] + damping * Sv[i * P + c];
            }
        }
    }
    if (bristles && steps && !winds) { /* they begin bent: by sliding, or by what holds the joint at rest */
        double M[N * N], b[N];
        MOTION(q, v, s, M, b);
        for (i = N - LINKS; i < N; ++i) {
            const double *p = PAR(i), o = on_[i % LINKS], err = o * (u_[i % LINKS] + p[BIAS] - q[i - follow]);
            const double load = b[i % LINKS];
            const double rest = p[KP] * err + torque_[i % LINKS] - constant_of(p, clock_[0]) - load;
            const Level l = level_of(p, load, v[i], clock_[0], 1);
            const double top = 0.99 * l.value, end = v[i] != 0.0 ? SIGN(v[i]) : 0.99 * ((rest > top) - (rest < -top));
            if (!(brush[i].grip > 0.0)) continue;
            brush[i].w = end != 0.0 ? end * l.value : rest;
            for (c = 0; c < params; ++c) {
                const long long what = joint[c] < 0 || joint[c] == i % LINKS ? kind[c] : -1;
                if (end != 0.0)
                    Sw[i * P + c] = end * l.warm * (what == FC ? 1 : what == FL ? fabs(load) : what == FS ? l.fe : 0.0);
                else
                    Sw[i * P + c] = what == KP ? err : what == BIAS ? o * p[KP] : what == FO ? -1.0
                              : what == FOD ? -clock_[0] : 0.0;
            }
            if (P > params && end == 0.0) Sw[i * P + params + i % LINKS] = -o * p[KP];
        }
    }
    for (i = 0; i < LINKS; ++i) {
        q_out[i] = q[shown + i];
        for (c = 0; c < P; ++c) S_out[i * P + c] = Sq[(shown + i) * P + c];
    }
    for (t = 0; t < steps; ++t) {
        const double h = h_[t], *u = u_ + t * LINKS, *du = du_ + t * LINKS, *on = on_ + t * LINKS;
        const double *push = torque_ + t * LINKS;
        double M[N * N], b[N], H[N][N], C[N][N], r[N], vn[N], gain[N], pull[N], half[N], err[N];
        double warm[LINKS], fade[LINKS], level[N];
        Viscous viscous[LINKS];
        Spring spring[LINKS];
        int round, was;
        MOTION(q, v, s, M, b);
        for (i = N - LINKS; i < N; ++i) {
            const double *p = PAR(i);
            const Level l = level_of(p, b[i % LINKS], v[i], clock_[t], warms);
            M[i * N + i] += p[IA];
            viscous[i % LINKS] = viscous_of(p, v[i]);
            fade[i % LINKS] = l.fade, warm[i % LINKS] = l.warm, fe[i] = l.fe, fc[i] = level[i] = l.value;
            if (brush[i].grip > 0.0) bristle_set(brush + i, p, h, v[i], fc[i]), fc[i] = 0.0;
        }
        for (round = 0; round < (N > LINKS ? 20 : 6); ++round) {
            int changed = 0;
            for (i = 0; i < N; ++i) {
                r[i] = 0.0, gain[i] = half[i] = 0.0;
                for (j = 0; j < N; ++j) { r[i] += M[i * N + j] * v[j]; H[i][j] = M[i * N + j]; }
            }
            for (i = 0; i < N; ++i) {
                const double *p = PAR(i), o = on[i % LINKS];
                if (DRIVEN(i)) {
                    gain[i] = sat[i] ? 0.0 : o * p[KP];
                    err[i] = o * (u[i % LINKS] + p[BIAS] - q[i - follow]);
                    if (err[i] > p[DUTY] || err[i] < -p[DUTY])
                        err[i] = err[i] > 0.0 ? p[DUTY] : -p[DUTY], gain[i] = 0.0;
                    half[i] = sat[i] ? 0.0 : o * p[KD] + (o != 0.0) * p[EMF];
                    half[i] = 0.5 * h * (half[i] + viscous[i % LINKS].value * warm[i % LINKS]);
                    H[i][i] += half[i];
                    pull[i] = sat[i] ? (o != 0.0) * sat[i] * p[LIMIT] : p[KP] * err[i] + wound[i];
                    r[i] += h * (pull[i] + push[i % LINKS] - constant_of(p, clock_[t])) - half[i] * v[i];
                    if (brush[i].grip > 0.0) {
                        const Bristle *z = brush + i;
                        H[i][i] += h * (z->damp + z->stiff);
                        r[i] -= h * (z->w + (z->damp - z->stiff) * v[i]);
                    }
                }
                r[i] -= h * b[i];
            }
            for (i = 0; i < (N > LINKS ? LINKS : 0); ++i) {
                const int d = LINKS + i;
                const Spring z = spring[i] = spring_of(PAR(i), h, side[i]);
                if (!z.side) continue;
                const double rest = h * (z.k * (q[d] - q[i]) - z.side * z.edge + z.B * (v[d] - v[i]));
                H[d][d] += h * z.A, H[i][i] += h * z.A, H[d][i] -= h * z.A, H[i][d] -= h * z.A;
                r[d] -= rest, r[i] += rest;
            }
            if (step_velocity((const double (*)[N])H, r, fc, h, mode, sticks, C, set, &m, vn)) goto fail;
            for (i = N - LINKS; i < N; ++i) {
                const double *p = PAR(i), o = on[i % LINKS];
                double torque = p[KP] * err[i] + wound[i] - 0.5 * (o * p[KD] + (o != 0.0) * p[EMF]) * (v[i] + vn[i]);
                was = sat[i];
                sat[i] = torque > p[LIMIT] ? 1 : torque < -p[LIMIT] ? -1 : 0;
                changed |= sat[i] != was;
            }
            for (i = 0; i < (N > LINKS ? LINKS : 0); ++i) {
                const int d = LINKS + i;
                Spring *z = spring + i;
                z->y = z->k * (q[d] - q[i]) + z->A * (vn[d] - vn[i]) + z->B * (v[d] - v[i]);
                was = side[i];
                side[i] = z->y > z->edge ? 1 : z->y < -z->edge ? -1 : 0;
                changed |= PAR(i)[GAP] > 0.0 && side[i] != was;
            }
            if (!changed) break;
        }
        for (i = 0; i < N; ++i)
            if (!(vn[i] < 1e4 && vn[i] > -1e4)) goto fail;
        if (P) {
            double a[N], Gq[N * N], Gv[N * N], Gs[N * INPUTS], W[N][4 * N], grip_q[N][N], grip_v[N][N], slip[N];
            const int states = winds ? 4 : bristles ? 3 : 2;
            for (i = 0; i < N; ++i) a[i] = (vn[i] - v[i]) / h;
            SLOPES(q, v, a, s, Gq, Gv, Gs);
            for (i = N - LINKS; i < N; ++i) { /* friction that changes with load and speed; the load's inertia aside */
                const double *p = PAR(i), f = warm[i % LINKS] * p[FL] * (b[i % LINKS] > 0.0 ? 1.0 : -1.0);
                slip[i] = mode[i]; /* the friction's slope in its level */
                if (brush[i].grip > 0.0) bristle_slopes(brush + i, p, h, v[i], vn[i]), slip[i] = brush[i].torque_grip;
                for (j = 0; j < N; ++j) {
                    grip_q[i][j] = f != 0.0 ? f * Gq[i % LINKS * N + j] : 0.0;
                    grip_v[i][j] = f != 0.0 ? f * Gv[i % LINKS * N + j] : 0.0;
                }
                if (fe[i] > 0.0) grip_v[i][i] -= warm[i % LINKS] * p[FS] * fe[i] * 2.0 * v[i] / (p[VS] * p[VS]);
                if (slip[i] != 0.0)
                    for (j = 0; j < N; ++j)
                        Gq[i * N + j] += slip[i] * grip_q[i][j], Gv[i * N + j] += slip[i] * grip_v[i][j];
                if (brush[i].grip > 0.0) Gv[i * N + i] += brush[i].damp - brush[i].stiff;
                Gq[i * N + i - follow] += gain[i];
            }
            for (i = 0; i < (N > LINKS ? LINKS : 0); ++i) { /* springs */
                const int d = LINKS + i;
                const Spring z = spring[i];
                if (!z.side) continue;
                Gq[d * N + d] += z.k, Gq[i * N + i] += z.k, Gq[d * N + i] -= z.k, Gq[i * N + d] -= z.k;
                Gv[d * N + d] += z.B, Gv[i * N + i] += z.B, Gv[d * N + i] -= z.B, Gv[i * N + d] -= z.B;
            }
            for (k = 0; k < m; ++k) {
                double e[N] = {0.0};
                e[k] = 1.0;
                solve(C, m, e);
                for (i = 0; i < m; ++i) H[i][k] = e[i]; /* inverse on the sliding joints, H is not needed any more */
            }
            for (k = 0; k < m; ++k)
                for (j = 0; j < N; ++j) {
                    double wq = 0.0, wv = 0.0;
                    for (i = 0; i < m; ++i) {
                        const int g = set[i];
                        wq -= H[k][i] * h * Gq[g * N + j];
                        wv += H[k][i] * (M[g * N + j] - h * Gv[g * N + j] - (g == j ? half[g] : 0.0));
                    }
                    W[k][j] = wq, W[k][N + j] = wv, W[k][2 * N + j] = W[k][3 * N + j] = 0.0;
                    for (i = 0; bristles && i < m; ++i)
                        if (set[i] == j && brush[j].grip > 0.0) W[k][2 * N + j] = -H[k][i] * h * brush[j].torque_w;
                    for (i = 0; winds && i < m; ++i)
                        if (set[i] == j && DRIVEN(j) && !sat[j]) W[k][3 * N + j] = H[k][i] * h;
                }
            for (k = 0; k < m; ++k) {
                double *to = R + set[k] * P;
                for (c = 0; c < P; ++c) to[c] = 0.0;
                for (j = 0; j < states * N; ++j) {
                    const double w = W[k][j], *from = work + j * P;
                    for (c = 0; c < P; ++c) to[c] += w * from[c];
                }
            }
            for (i = N - LINKS; i < N; ++i)
                for (c = 0; brush[i].grip > 0.0 && c < P; ++c) {
                    double change = 0.0;
                    for (j = 0; j < N; ++j) change += grip_q[i][j] * Sq[j * P + c] + grip_v[i][j] * Sv[j * P + c];
                    Sw[i * P + c] = brush[i].next_w * Sw[i * P + c] + brush[i].next_grip * change;
                }
            for (c = 0; c < params; ++c) {
                const int first = joint[c] < 0 ? 0 : (int)joint[c], last = joint[c] < 0 ? LINKS - 1 : (int)joint[c];
                for (j = first; j <= last; ++j) {
                    const int d = N - LINKS + j;
                    const double *p = PAR(j), full = sat[d] ? 0.0 : on[j], mean = 0.5 * (v[d] + vn[d]);
                    const double w = warm[j];
                    double y = 0.0, across = 0.0, more = 0.0; /* torque on the drive, of the spring; friction */
                    switch (kind[c]) {
                    case KP: y = sat[d] ? 0.0 : err[d]; break;
                    case KD: y = -full * mean; break;
                    case EMF: y = -(full != 0.0) * mean; break;
                    case IA: y = -a[d]; break;
                    case FV: y = -w * viscous[j].in_mean * mean; break;
                    case FVA: y = -w * viscous[j].in_half * mean; break;
                    case FC: more = w; break;
                    case FL: more = w * fabs(b[j]); break;
                    case FS: more = w * fe[d]; break;
                    case VS: more = w * p[FS] * fe[d] * 2.0 * v[d] * v[d] / (p[VS] * p[VS] * p[VS]); break;
                    case WARM: y = -fade[j] * viscous[j].value * mean, more = fade[j] * level[d] / w; break;
                    case TW:
                        more = p[WARM] * fade[j] * clock_[t] / (p[TW] * p[TW]);
                        y = -more * viscous[j].value * mean, more *= level[d] / w;
                        break;
                    case BRISTLE: y = -0.25 * h * brush[d].give * (vn[d] - v[d]); break;
                    case MICRO: y = -brush[d].give * mean; break;
                    case BIAS: y = gain[d]; break;
                    case LIMIT: y = (on[j] != 0.0) * sat[d]; break;
                    case FO: y = -1.0; break;
                    case FOD: y = -clock_[t]; break;
                    case DELAY: y = gain[d] * du[j]; break;
                    case GAP: across = N > LINKS ? -0.5 * spring[j].side * spring[j].k : 0.0; break;
                    case DJ: across = N > LINKS && spring[j].side ? mean - 0.5 * (v[j] + vn[j]) : 0.0; break;
                    case KJ: across = N > LINKS && spring[j].side
                                          ? q[d] - q[j] + 0.25 * h * (vn[d] - vn[j] - v[d] + v[j])
                                                - 0.5 * (p[GAP] > 0.0) * spring[j].side * p[GAP]
                                          : 0.0;
                        break;
                    default: break;
                    }
                    y -= slip[d] * more;
                    if (brush[d].grip > 0.0)
                        Sw[d * P + c] += brush[d].next_grip * more + (kind[c] == BRISTLE ? brush[d].next_stiff : 0.0);
                    else if (kind[c] == BRISTLE || kind[c] == MICRO)
                        y = 0.0;
                    if (kind[c] == SCALE || ((kind[c] == TILT_X || kind[c] == TILT_Y) && j == first)) {
                        const int of = kind[c] == SCALE ? j : LINKS + (kind[c] == TILT_Y);
                        for (k = 0; k < m; ++k)
                            for (i = 0; i < m; ++i) R[set[k] * P + c] -= h * H[k][i] * Gs[set[i] * INPUTS + of];
                    } else if (y != 0.0 || across != 0.0)
                        for (k = 0; k < m; ++k)
                            for (i = 0; i < m; ++i) {
                                if (set[i] == d) R[set[k] * P + c] += h * H[k][i] * (y - across);
                                if (N > LINKS && set[i] == j) R[set[k] * P + c] += h * H[k][i] * across;
                            }
                }
            }
            for (i = N - LINKS; winds && i < N; ++i) { /* the integral, of the positions before the step */
                const double *p = PAR(i), o = sat[i] || fabs(err[i]) >= p[DUTY] ? 0.0 : on[i % LINKS];
                for (c = 0; c < P; ++c) {
                    const long long what = c < params && (joint[c] < 0 || joint[c] == i % LINKS) ? kind[c] : -1;
                    const double in = (what == BIAS) + (what == DELAY) * du[i % LINKS] - Sq[(i - follow) * P + c];
                    Sz[i * P + c] += h * (p[KI] * o * in + (what == KI && !sat[i] ? err[i] : 0.0));
                    if (on[i % LINKS] == 0.0) Sz[i * P + c] = 0.0;
                }
            }
            for (i = 0; i < N; ++i) {
                for (c = 0; brush[i].grip > 0.0 && c < P; ++c) Sw[i * P + c] += brush[i].next_v * R[i * P + c];
                if (sticks[i]) memset(Sv + i * P, 0, sizeof(double) * (size_t)P);
                else memcpy(Sv + i * P, R + i * P, sizeof(double) * (size_t)P);
                for (c = 0; c < P; ++c) Sq[i * P + c] += h * Sv[i * P + c];
            }
        }
        for (i = 0; i < N; ++i) {
            const double end = SIGN(vn[i]) * brush[i].grip;
            if (end != 0.0) brush[i].w = end + (brush[i].w - end) * exp(-h * PAR(i)[BRISTLE] * fabs(vn[i] / end));
            if (winds && DRIVEN(i)) {
                if (!sat[i]) wound[i] += h * PAR(i)[KI] * err[i];
                if (on[i % LINKS] == 0.0) wound[i] = 0.0;
            }
            v[i] = vn[i], q[i] += h * vn[i];
        }
        if (emit[t]) {
            ++row;
            memcpy(q_out + row * LINKS, q + shown, sizeof(double) * LINKS);
            if (P) {
                for (c = 0; c < 4 * N * P; ++c) /* what has decayed: denormal numbers are slow */
                    if (work[c] < 1e-100 && work[c] > -1e-100) work[c] = 0.0;
                memcpy(S_out + row * LINKS * P, Sq + shown * P, sizeof(double) * (size_t)(LINKS * P));
            }
        }
    }
    memcpy(x, q + shown, sizeof(double) * LINKS);
    memcpy(x + LINKS, v + shown, sizeof(double) * LINKS);
    return 0;
fail: /* a motion that no robot makes: far away, so that any other is better */
    for (t = row + 1; ; ++t) {
        long left = 0, k2;
        for (k2 = 0; k2 < steps; ++k2) left += emit[k2] != 0;
        if (t > left) break;
        for (i = 0; i < LINKS; ++i) q_out[t * LINKS + i] = 1e3;
        if (P) memset(S_out + t * LINKS * P, 0, sizeof(double) * (size_t)(LINKS * P));
    }
    return 1;
}
"""
)
