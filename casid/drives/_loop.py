"""The loop over steps in C: dry friction of all joints, switch of modes, and the chain of derivatives.

Around the graphs of the robot (``MOTION``: mass matrix and torques of motion, ``SLOPES``: their derivatives) and of one
joint (`casid.drives._law`). Coordinates: links first, then drives, where springs are between them.
"""

LOOP = r"""
#define PAR(j) (par + (j) * KINDS)
#define D(j) (N - LINKS + (j)) /* coordinate of a joint's drive */

typedef int (*Graph)(const double *, const double *, const double *, const double *, double *);
typedef int (*Moved)(const double *, const double *, const double *, const double *, const double *, double *);
/* by what the law has beside the plain one: 1: friction that fades, 2: bristles or an integral */
static const Graph law_of[] = {LAW_0, LAW_1, LAW_2, LAW_3};
static const Moved slopes_of[] = {SLOPES_0, SLOPES_1, SLOPES_2, SLOPES_3}, next_of[] = {0, 0, NEXT_2, NEXT_3};

typedef struct {
    double x[LOCALS + 1], drive[6], modes[3], law[LAW], J[(COPIES + 2) * WIDTH];
    int at[LOCALS]; /* places of x among the states: positions, velocities, bristles, integrals */
} Joint;

/* A = L L' of the rows and columns in set; x = A^-1 b, rows of b: those of set. */
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

/* to = W S, with rows of S of a multiple of eight, 32 columns at once where there are so many. */
static inline void chained_block(const double *W, const double *S, int rows, long P, double *to, const int width)
{
    double sum[32] = {0.0};
    int j, k;
    for (j = 0; j < rows; ++j)
        for (k = 0; k < width; ++k) sum[k] += W[j] * S[j * P + k];
    for (k = 0; k < width; ++k) to[k] = sum[k];
}

static void chained(const double *W, const double *S, int rows, long P, double *to)
{
    long c = 0;
    for (; c + 32 <= P; c += 32) chained_block(W, S + c, rows, P, to + c, 32);
    for (; c < P; c += 8) chained_block(W, S + c, rows, P, to + c, 8);
}

/* Derivatives of one output of a joint's law: through its own state, its parameters, and the torque of its links. */
static void local(const Joint *o, const double *J, const double *Gq, const double *Gv, const double *S, long P,
                  long params, const long long *kind, const long long *joint, int j, double *to)
{
    long c;
    int k;
    for (c = 0; c < P; ++c) to[c] = 0.0;
    for (k = 0; k < LOCALS; ++k)
        for (c = 0; J[k] != 0.0 && c < P; ++c) to[c] += J[k] * S[o->at[k] * P + c];
    for (k = 0; J[LOCALS] != 0.0 && k < N; ++k)
        for (c = 0; c < P; ++c) to[c] += J[LOCALS] * (Gq[k] * S[k * P + c] + Gv[k] * S[(N + k) * P + c]);
    for (c = 0; c < params; ++c)
        if (joint[c] < 0 || joint[c] == j) to[c] += J[LOCALS + 1 + kind[c]];
}

int casid_rollout(long steps, long params, long P, long encoder, const double *h_, const double *u_,
                  const double *du_, const double *on_, const double *push_, const double *clock_,
                  const long long *emit, const double *par, const long long *kind, const long long *joint, double *x,
                  double *q_out, double *S_out, double *work)
{
    const long stride = (P + 7) / 8 * 8;
    double *S = work, *R = work + 4 * N * stride, *extra = R + N * stride, y[4 * N], *q = y, *v = y + N;
    /* s: factors of the bodies, then the base's tilt */
    double s[INPUTS], M[N * N], b[N], vn[N], Gq[N * N], Gv[N * N], Gs[N * INPUTS], a[N] = {0.0};
    int mode[N], sticks[N], set[N], i, j, k, m = 0, winds = 0, bristles = 0, faded = 0, states, more;
    const int shown = N > LINKS && encoder == 2 ? LINKS : 0; /* first coordinate that the encoders show */
    Joint joints[LINKS];
    long t, c, row = 0;
    memset(work, 0, sizeof(double) * (size_t)((4 + 1 + 2) * N * stride));
    memset(y, 0, sizeof y);
    for (c = 0; c < params; ++c) winds |= kind[c] == KI, faded |= kind[c] == FS || kind[c] == WARM;
    for (i = 0; i < N; ++i) {
        mode[i] = sticks[i] = 0;
        q[i] = x[i % LINKS], v[i] = x[LINKS + i % LINKS];
        if (P > params)
            S[i * stride + params + i % LINKS] = S[(N + i) * stride + params + LINKS + i % LINKS] = 1.0;
    }
    s[LINKS] = par[TILT_X], s[LINKS + 1] = par[TILT_Y];
    for (j = 0; j < LINKS; ++j) {
        const double *p = PAR(j);
        const int d = D(j), at[] = {N > LINKS && encoder == 1 ? j : d, d, j, N + d, N + j, 2 * N + d, 3 * N + d};
        const int dry = (p[FC] > 0.0 || p[FL] > 0.0 || p[FS] > 0.0) && p[BRISTLE] >= STIFF;
        memset(joints + j, 0, sizeof(Joint));
        if (N > LINKS) memcpy(joints[j].at, at, sizeof(int) * LOCALS);
        else for (k = 0; k < LOCALS; ++k) joints[j].at[k] = k * N + j;
        if (dry) mode[d] = (v[d] > 0.0) - (v[d] < 0.0), sticks[d] = v[d] == 0.0;
        s[j] = p[SCALE], winds |= p[KI] > 0.0, bristles |= p[BRISTLE] < STIFF;
        faded |= p[FS] > 0.0 || p[WARM] != 0.0;
    }
    states = winds ? 4 : bristles ? 3 : 2, more = faded + 2 * (states > 2);
    for (k = N > LINKS ? 0 : 1; k < 2 && steps; ++k) { /* springs at rest under the load; then what holds the motion */
        if (k && states == 2) break;
        MOTION(q, v, s, M, b);
        if (P && k) SLOPES(q, v, a, s, Gq, Gv, Gs);
        for (j = 0; j < LINKS; ++j) {
            Joint *o = joints + j;
            const double *p = PAR(j), drive[] = {h_[0], u_[j], du_[j], on_[j], push_[j], clock_[0]};
            double made[3 + 3 * WIDTH], *J = made + 3;
            for (i = 0; i < LOCALS; ++i) o->x[i] = y[o->at[i]];
            o->x[LOCALS] = b[j];
            if (!k) o->modes[2] = b[j] > 0.0 ? 1.0 : -1.0;
            START(o->x, p, drive, o->modes, made);
            if (!k) {
                const int hidden = shown ? j : LINKS + j;
                const double sign = shown ? -1.0 : 1.0;
                q[hidden] += sign * made[0] + x[2 * LINKS + j], v[hidden] += x[3 * LINKS + j];
                if (P > params)
                    S[hidden * stride + params + 2 * LINKS + j] = S[(N + hidden) * stride + params + 3 * LINKS + j] =
                        1.0;
                for (c = 0; c < params; ++c)
                    if (joint[c] < 0 || joint[c] == j) S[hidden * stride + c] = sign * J[LOCALS + 1 + kind[c]];
                continue;
            }
            i = winds ? 1 : 2;
            y[(i == 1 ? 3 : 2) * N + D(j)] = made[i];
            if (!P) continue;
            J += i * WIDTH;
            local(o, J, Gq + j * N, Gv + j * N, S, stride, params, kind, joint, j, extra);
            for (c = 0; c < params; ++c) {
                if (kind[c] == SCALE) extra[c] += J[LOCALS] * Gs[j * INPUTS + joint[c]];
                if (kind[c] == TILT_X || kind[c] == TILT_Y)
                    extra[c] += J[LOCALS] * Gs[j * INPUTS + LINKS + (kind[c] == TILT_Y)];
            }
            memcpy(S + ((i == 1 ? 3 : 2) * N + D(j)) * stride, extra, sizeof(double) * (size_t)stride);
        }
    }
    for (i = 0; i < LINKS; ++i) {
        q_out[i] = q[shown + i];
        memcpy(S_out + i * P, S + (shown + i) * stride, sizeof(double) * (size_t)P);
    }
    for (t = 0; t < steps; ++t) {
        const double h = h_[t];
        double H[N][N], L[N][N], r[N], fc[N] = {0.0};
        int round;
        MOTION(q, v, s, M, b);
        for (j = 0; j < LINKS; ++j) {
            Joint *o = joints + j;
            const long at = t * LINKS + j;
            for (k = 0; k < LOCALS; ++k) o->x[k] = y[o->at[k]];
            o->x[LOCALS] = b[j];
            o->drive[AT_H] = h, o->drive[AT_U] = u_[at], o->drive[AT_DU] = du_[at], o->drive[AT_ON] = on_[at];
            o->drive[AT_PUSH] = push_[at], o->drive[AT_CLOCK] = clock_[t];
        }
        for (round = 0; round < (N > LINKS ? 20 : 6); ++round) {
            int changed = 0;
            for (i = 0; i < N; ++i) {
                r[i] = -h * b[i];
                for (j = 0; j < N; ++j) r[i] += M[i * N + j] * v[j], H[i][j] = M[i * N + j];
            }
            for (j = 0; j < LINKS; ++j) {
                Joint *o = joints + j;
                const int d = D(j);
                law_of[more](o->x, PAR(j), o->drive, o->modes, o->law);
                r[d] += h * o->law[TORQUE], H[d][d] -= h * o->law[SLOPE], fc[d] = o->law[DRY];
#if COPIES == 2
                r[j] += h * o->law[TORQUE_LINK], H[d][j] -= h * o->law[SLOPE + 1];
                H[j][d] -= h * o->law[SLOPE_LINK], H[j][j] -= h * o->law[SLOPE_LINK + 1];
#endif
            }
            if (step_velocity((const double (*)[N])H, r, fc, h, mode, sticks, L, set, &m, vn)) goto fail;
            for (j = 0; j < LINKS; ++j) {
                const double *p = PAR(j), *law = joints[j].law, asked = law[ASKED] + law[ASKED_SLOPE] * vn[D(j)];
                const double limited = (asked > p[LIMIT]) - (asked < -p[LIMIT]);
                changed |= limited != joints[j].modes[1], joints[j].modes[1] = limited;
#if COPIES == 2
                const double spring = law[SPRING] + law[SPRING_SLOPE] * (vn[D(j)] - vn[j]);
                const double side = (spring > law[EDGE]) - (spring < -law[EDGE]);
                changed |= p[GAP] > 0.0 && side != joints[j].modes[2], joints[j].modes[2] = side;
#endif
            }
            if (!changed) break;
        }
        for (i = 0; i < N; ++i)
            if (!(vn[i] < 1e4 && vn[i] > -1e4)) goto fail;
        if (P) {
            double A[N][4 * N], W[4 * N], B[N][INPUTS], I[N][N] = {{0.0}};
            for (i = 0; i < N; ++i) a[i] = (vn[i] - v[i]) / h;
            SLOPES(q, v, a, s, Gq, Gv, Gs);
            for (i = 0; i < N; ++i)
                for (j = 0; j < N; ++j) {
                    A[i][j] = -h * Gq[i * N + j], A[i][N + j] = M[i * N + j] - h * Gv[i * N + j];
                    A[i][2 * N + j] = A[i][3 * N + j] = 0.0;
                }
            for (i = 0; i < N; ++i)
                for (k = 0; k < INPUTS; ++k) B[i][k] = -h * Gs[i * INPUTS + k];
            for (j = 0; j < LINKS; ++j) {
                Joint *o = joints + j;
                const int d = D(j);
                const double n[] = {vn[d], vn[j]};
                o->modes[0] = mode[d];
                slopes_of[more](o->x, n, PAR(j), o->drive, o->modes, o->J);
                for (i = 0; i < COPIES; ++i)
                    for (k = 0; k < LOCALS; ++k) A[i ? j : d][o->at[k]] += h * o->J[i * WIDTH + k];
                if (o->J[LOCALS] != 0.0) { /* the torque of the links by their acceleration aside */
                    const double f = h * o->J[LOCALS];
                    for (k = 0; k < N; ++k) A[d][k] += f * Gq[j * N + k], A[d][N + k] += f * Gv[j * N + k];
                    for (k = 0; k < INPUTS; ++k) B[d][k] += f * Gs[j * INPUTS + k];
                }
            }
            for (k = 0; k < m; ++k) {
                double e[N] = {0.0};
                e[k] = 1.0;
                solve(L, m, e);
                for (i = 0; i < m; ++i) I[set[i]][set[k]] = e[i]; /* inverse on the sliding joints */
            }
            for (k = 0; k < m; ++k) {
                double *to = R + set[k] * stride;
                for (j = 0; j < 4 * N; ++j) W[j] = 0.0;
                for (i = 0; i < m; ++i)
                    for (j = 0; j < states * N; ++j) W[j] += I[set[k]][set[i]] * A[set[i]][j];
                chained(W, S, states * N, stride, to);
                for (c = 0; c < params; ++c) {
                    const int body = kind[c] == SCALE ? (int)joint[c]
                                   : kind[c] == TILT_X ? LINKS : kind[c] == TILT_Y ? LINKS + 1 : -1;
                    const int first = joint[c] < 0 ? 0 : (int)joint[c], last = joint[c] < 0 ? LINKS : first + 1;
                    if (body >= 0)
                        for (i = 0; i < m; ++i) to[c] += I[set[k]][set[i]] * B[set[i]][body];
                    else
                        for (j = first; j < last; ++j)
                            for (i = 0; i < COPIES; ++i)
                                to[c] += h * I[set[k]][i ? j : D(j)] * joints[j].J[i * WIDTH + LOCALS + 1 + kind[c]];
                }
            }
            for (i = 0; i < N; ++i)
                if (sticks[i]) memset(R + i * stride, 0, sizeof(double) * (size_t)stride);
            for (i = 0; i < states - 2; ++i) /* bristles, integral */
                for (j = 0; j < LINKS; ++j) {
                    const double *J = joints[j].J + (COPIES + i) * WIDTH;
                    double *to = extra + (i * LINKS + j) * stride;
                    local(joints + j, J, Gq + j * N, Gv + j * N, S, stride, params, kind, joint, j, to);
                    for (c = 0; c < P; ++c) to[c] += J[WIDTH - 1] * R[D(j) * stride + c];
                }
            for (i = 0; i < states - 2; ++i)
                memcpy(S + ((2 + i) * N + D(0)) * stride, extra + i * LINKS * stride,
                       sizeof(double) * (size_t)(LINKS * stride));
            memcpy(S + N * stride, R, sizeof(double) * (size_t)(N * stride));
            for (c = 0; c < N * stride; ++c) S[c] += h * S[N * stride + c];
        }
        for (j = 0; states > 2 && j < LINKS; ++j) {
            const double n[] = {vn[D(j)], vn[j]};
            double after[2];
            next_of[more](joints[j].x, n, PAR(j), joints[j].drive, joints[j].modes, after);
            y[2 * N + D(j)] = after[0], y[3 * N + D(j)] = after[1];
        }
        for (i = 0; i < N; ++i) v[i] = vn[i], q[i] += h * vn[i];
        if (emit[t]) {
            ++row;
            memcpy(q_out + row * LINKS, q + shown, sizeof(double) * LINKS);
            for (c = 0; c < states * N * stride; ++c) /* what has decayed: denormal numbers are slow */
                if (S[c] < 1e-100 && S[c] > -1e-100) S[c] = 0.0;
            for (i = 0; i < LINKS; ++i)
                memcpy(S_out + (row * LINKS + i) * P, S + (shown + i) * stride, sizeof(double) * (size_t)P);
        }
    }
    memcpy(x, q + shown, sizeof(double) * LINKS);
    memcpy(x + LINKS, v + shown, sizeof(double) * LINKS);
    return 0;
fail: /* a motion that no robot makes: far away, so that any other is better */
    for (++row; t < steps; ++t)
        if (emit[t]) {
            for (i = 0; i < LINKS; ++i) q_out[row * LINKS + i] = 1e3;
            memset(S_out + row++ * LINKS * P, 0, sizeof(double) * (size_t)(LINKS * P));
        }
    return 1;
}
"""
