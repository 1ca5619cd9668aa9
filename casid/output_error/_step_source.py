"""The recursion of `casid.output_error._rollout` around the generated functions, in C."""

STEP = r"""
/* A = L L' of the rows and columns in set; x = A^-1 b for the columns of b (rows of b: those of set). */
static int factor(const double H[N][N], const int *set, int m, double L[N][N])
{
    int i, j, k;
    for (i = 0; i < m; ++i)
        for (j = 0; j <= i; ++j) {
            double sum = H[set[i]][set[j]];
            for (k = 0; k < j; ++k) sum -= L[i][k] * L[j][k];
            if (i == j) {
                if (!(sum > 0.0)) return 1;
                L[i][i] = sqrt(sum);
            } else
                L[i][j] = sum / L[j][j];
        }
    return 0;
}

static void solve(double L[N][N], int m, double *x)
{
    int i, k;
    for (i = 0; i < m; ++i) {
        for (k = 0; k < i; ++k) x[i] -= L[i][k] * x[k];
        x[i] /= L[i][i];
    }
    for (i = m - 1; i >= 0; --i) {
        for (k = i + 1; k < m; ++k) x[i] -= L[k][i] * x[k];
        x[i] /= L[i][i];
    }
}

/* Velocity after a step: modes are -1, 0 (sticks), 1; 0 without friction means that it slides without any. */
static int step_velocity(const double H[N][N], const double *r, const double *fc, double h, int *mode, int *sticks,
                         double L[N][N], int *set, int *size, double *v)
{
    int round, j, k, m = 0;
    for (round = 0; round < 40; ++round) {
        int changed = 0;
        double x[N];
        for (m = 0, j = 0; j < N; ++j)
            if (!sticks[j]) set[m++] = j;
        if (factor(H, set, m, L)) return 1;
        for (k = 0; k < m; ++k) x[k] = r[set[k]] - h * fc[set[k]] * mode[set[k]];
        solve(L, m, x);
        for (j = 0; j < N; ++j) v[j] = 0.0;
        for (k = 0; k < m; ++k) v[set[k]] = x[k];
        for (j = 0; j < N && !(round > 12 && changed); ++j) {
            if (fc[j] <= 0.0) continue;
            if (sticks[j]) {
                double f = r[j];
                for (k = 0; k < m; ++k) f -= H[j][set[k]] * x[k];
                f /= h;
                if (f > fc[j] || f < -fc[j]) { sticks[j] = 0; mode[j] = f > 0.0 ? 1 : -1; changed = 1; }
            } else if (v[j] * mode[j] <= 0.0) { sticks[j] = 1; mode[j] = 0; changed = 1; }
        }
        if (!changed) break;
    }
    *size = m;
    return 0;
}

int casid_rollout(long steps, long params, long P, const double *h_, const double *u_, const double *du_,
                  const double *on_, const double *torque_, const long long *emit, const double *par,
                  const long long *kind, const long long *joint, double *x, double *q_out, double *S_out, double *work)
{
    double *Sq = work, *Sv = work + N * P, *R = work + 2 * N * P;
    double q[N], v[N], s[N], fc[N], fe[N];
    int mode[N], sticks[N], set[N], sat[N], i, j, k, m = 0;
    long t, c, row = 0;
    memset(work, 0, sizeof(double) * (size_t)(3 * N * (P ? P : 1)));
    for (i = 0; i < N; ++i) {
        const double *p = par + i * KINDS;
        q[i] = x[i], v[i] = x[N + i], s[i] = p[SCALE];
        fc[i] = p[FC] > 0.0 || p[FL] > 0.0 || p[FS] > 0.0 ? 1.0 : 0.0;
        sat[i] = 0;
        sticks[i] = fc[i] > 0.0 && v[i] == 0.0;
        mode[i] = fc[i] > 0.0 ? (v[i] > 0.0) - (v[i] < 0.0) : 0;
    }
    for (c = params; c < P; ++c) work[(c - params) * P + c] = 1.0; /* rows of Sq, then of Sv */
    for (i = 0; i < N; ++i) {
        q_out[i] = q[i];
        for (c = 0; c < P; ++c) S_out[i * P + c] = Sq[i * P + c];
    }
    for (t = 0; t < steps; ++t) {
        const double h = h_[t], *u = u_ + t * N, *du = du_ + t * N, *on = on_ + t * N, *push = torque_ + t * N;
        double M[N * N], b[N], H[N][N], L[N][N], r[N], vn[N], gain[N], side[N], half[N], err[N];
        int round, was[N];
        MOTION(q, v, s, M, b);
        for (i = 0; i < N; ++i) {
            const double *p = par + i * KINDS, speed = p[FS] > 0.0 ? v[i] / p[VS] : 0.0;
            M[i * N + i] += p[IA];
            fe[i] = p[FS] > 0.0 ? exp(-speed * speed) : 0.0;
            fc[i] = p[FC] + p[FL] * fabs(b[i]) + p[FS] * fe[i];
            if (fc[i] < 0.0) fc[i] = 0.0;
        }
        for (round = 0; round < 6; ++round) {
            int changed = 0;
            for (i = 0; i < N; ++i) {
                const double *p = par + i * KINDS;
                double sum = 0.0;
                for (j = 0; j < N; ++j) { sum += M[i * N + j] * v[j]; H[i][j] = M[i * N + j]; }
                gain[i] = sat[i] ? 0.0 : on[i] * p[KP];
                err[i] = on[i] * (u[i] + p[BIAS] - q[i]);
                if (err[i] > p[DUTY] || err[i] < -p[DUTY]) err[i] = err[i] > 0.0 ? p[DUTY] : -p[DUTY], gain[i] = 0.0;
                half[i] = 0.5 * h * (p[FV] + (sat[i] ? 0.0 : on[i] * p[KD] + (on[i] != 0.0) * p[EMF]));
                H[i][i] += half[i];
                side[i] = sat[i] ? (on[i] != 0.0) * sat[i] * p[LIMIT] : p[KP] * err[i];
                r[i] = sum - half[i] * v[i] + h * (side[i] + push[i] - p[FO] - b[i]);
            }
            if (step_velocity((const double (*)[N])H, r, fc, h, mode, sticks, L, set, &m, vn)) goto fail;
            for (i = 0; i < N; ++i) {
                const double *p = par + i * KINDS;
                double torque = p[KP] * err[i] - 0.5 * (on[i] * p[KD] + (on[i] != 0.0) * p[EMF]) * (v[i] + vn[i]);
                was[i] = sat[i];
                sat[i] = torque > p[LIMIT] ? 1 : torque < -p[LIMIT] ? -1 : 0;
                changed |= sat[i] != was[i];
            }
            if (!changed) break;
        }
        for (i = 0; i < N; ++i)
            if (!(vn[i] < 1e4 && vn[i] > -1e4)) goto fail;
        if (P) {
            double a[N], Gq[N * N], Gv[N * N], Gs[N * N], W[N][2 * N];
            for (i = 0; i < N; ++i) a[i] = (vn[i] - v[i]) / h;
            SLOPES(q, v, a, s, Gq, Gv, Gs);
            for (i = 0; i < N; ++i) { /* friction that changes with load and speed; the load's inertia aside */
                const double *p = par + i * KINDS, f = mode[i] * p[FL] * (b[i] > 0.0 ? 1.0 : -1.0);
                if (f != 0.0)
                    for (j = 0; j < N; ++j) Gq[i * N + j] *= 1.0 + f, Gv[i * N + j] *= 1.0 + f;
                if (fe[i] > 0.0) Gv[i * N + i] -= mode[i] * p[FS] * fe[i] * 2.0 * v[i] / (p[VS] * p[VS]);
            }
            for (k = 0; k < m; ++k) {
                double e[N] = {0.0};
                e[k] = 1.0;
                solve(L, m, e);
                for (i = 0; i < m; ++i) H[i][k] = e[i]; /* inverse on the sliding joints, H is not needed any more */
            }
            for (k = 0; k < m; ++k)
                for (j = 0; j < N; ++j) {
                    double wq = 0.0, wv = 0.0;
                    for (i = 0; i < m; ++i) {
                        const int g = set[i];
                        wq -= H[k][i] * h * (Gq[g * N + j] + (g == j ? gain[g] : 0.0));
                        wv += H[k][i] * (M[g * N + j] - h * Gv[g * N + j] - (g == j ? half[g] : 0.0));
                    }
                    W[k][j] = wq, W[k][N + j] = wv;
                }
            for (k = 0; k < m; ++k) {
                double *to = R + set[k] * P;
                for (c = 0; c < P; ++c) to[c] = 0.0;
                for (j = 0; j < 2 * N; ++j) {
                    const double w = W[k][j], *from = work + j * P;
                    for (c = 0; c < P; ++c) to[c] += w * from[c];
                }
            }
            for (c = 0; c < params; ++c) {
                const int first = joint[c] < 0 ? 0 : (int)joint[c], last = joint[c] < 0 ? N - 1 : (int)joint[c];
                for (j = first; j <= last; ++j) {
                    const double *p = par + j * KINDS, full = sat[j] ? 0.0 : on[j];
                    double y = 0.0;
                    switch (kind[c]) {
                    case KP: y = sat[j] ? 0.0 : err[j]; break;
                    case KD: y = -0.5 * full * (v[j] + vn[j]); break;
                    case EMF: y = -0.5 * (full != 0.0) * (v[j] + vn[j]); break;
                    case IA: y = -a[j]; break;
                    case FV: y = -0.5 * (v[j] + vn[j]); break;
                    case FC: y = -mode[j]; break;
                    case FL: y = -mode[j] * fabs(b[j]); break;
                    case FS: y = -mode[j] * fe[j]; break;
                    case VS: y = -mode[j] * p[FS] * fe[j] * 2.0 * v[j] * v[j] / (p[VS] * p[VS] * p[VS]); break;
                    case BIAS: y = gain[j]; break;
                    case LIMIT: y = (on[j] != 0.0) * sat[j]; break;
                    case FO: y = -1.0; break;
                    case DELAY: y = gain[j] * du[j]; break;
                    default: break;
                    }
                    if (kind[c] == SCALE)
                        for (k = 0; k < m; ++k)
                            for (i = 0; i < m; ++i) R[set[k] * P + c] -= h * H[k][i] * Gs[set[i] * N + j];
                    else if (y != 0.0)
                        for (k = 0; k < m; ++k)
                            for (i = 0; i < m; ++i)
                                if (set[i] == j) R[set[k] * P + c] += h * H[k][i] * y;
                }
            }
            for (i = 0; i < N; ++i) {
                if (sticks[i]) memset(Sv + i * P, 0, sizeof(double) * (size_t)P);
                else memcpy(Sv + i * P, R + i * P, sizeof(double) * (size_t)P);
                for (c = 0; c < P; ++c) Sq[i * P + c] += h * Sv[i * P + c];
            }
        }
        for (i = 0; i < N; ++i) { v[i] = vn[i]; q[i] += h * vn[i]; }
        if (emit[t]) {
            ++row;
            memcpy(q_out + row * N, q, sizeof q);
            if (P) {
                for (c = 0; c < 2 * N * P; ++c) /* what has decayed: denormal numbers are slow */
                    if (work[c] < 1e-100 && work[c] > -1e-100) work[c] = 0.0;
                memcpy(S_out + row * N * P, Sq, sizeof(double) * (size_t)(N * P));
            }
        }
    }
    memcpy(x, q, sizeof q);
    memcpy(x + N, v, sizeof v);
    return 0;
fail: /* a motion that no robot makes: far away, so that any other is better */
    for (t = row + 1; ; ++t) {
        long left = 0, k2;
        for (k2 = 0; k2 < steps; ++k2) left += emit[k2] != 0;
        if (t > left) break;
        for (i = 0; i < N; ++i) q_out[t * N + i] = 1e3;
        if (P) memset(S_out + t * N * P, 0, sizeof(double) * (size_t)(N * P));
    }
    return 1;
}
"""
