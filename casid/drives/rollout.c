/* The loop over steps: dry friction of all joints, switch of modes, and the chain of derivatives.

   Around the graphs of one step (casid.drives._law), each called with the same inputs. N coordinates, LINKS of them
   links and as many drives where they have coordinates of their own, MEMORY torques of bristles and integrals. */

#define Y (2 * N + MEMORY) /* length of a state: positions, velocities, memory */
#define CALL(graph, ...) graph(M, b, y, vn, par, h_ + t, u_ + t * LINKS, du_ + t * LINKS, on_ + t * LINKS, \
                               push_ + t * LINKS, clock_ + t, slides, modes, __VA_ARGS__)

/* H = L L' in the rows and columns of set. */
static int factor(const double *H, const int *set, int m, double L[N][N])
{
    int i, j, k;
    for (i = 0; i < m; ++i)
        for (j = 0; j <= i; ++j) {
            double sum = H[set[i] * N + set[j]];
            for (k = 0; k < j; ++k) sum -= L[i][k] * L[j][k];
            if (i == j) {
                if (!(sum > 0.0)) return 1;
                L[i][i] = sqrt(sum);
            } else
                L[i][j] = sum / L[j][j];
        }
    return 0;
}

/* row[to] = (row[to] - factor row[from]) / divisor, rows of any width. */
static inline void eliminate(double *to, const double *from, double factor, long width)
{
    long c;
    for (c = 0; c < width; ++c) to[c] -= factor * from[c];
}

static inline void scale(double *to, double factor, long width)
{
    long c;
    for (c = 0; c < width; ++c) to[c] *= factor;
}

/* X = (L L')^-1 X in the rows of set. */
static void solve(double L[N][N], const int *set, int m, double *X, long width)
{
    int i, k;
    for (i = 0; i < m; ++i) {
        for (k = 0; k < i; ++k) eliminate(X + set[i] * width, X + set[k] * width, L[i][k], width);
        scale(X + set[i] * width, 1.0 / L[i][i], width);
    }
    for (i = m - 1; i >= 0; --i) {
        for (k = i + 1; k < m; ++k) eliminate(X + set[i] * width, X + set[k] * width, L[k][i], width);
        scale(X + set[i] * width, 1.0 / L[i][i], width);
    }
}

/* Velocity after a step: modes are -1, 0 (sticks), 1; without friction that of the motion, for the derivatives. */
static int step_velocity(const double *H, const double *r, const double *fc, double h, double *mode, double *sticks,
                         double L[N][N], int *set, int *size, double *v)
{
    int round, j, k, m = 0;
    for (round = 0; round < 40; ++round) {
        int changed = 0;
        for (m = 0, j = 0; j < N; ++j)
            if (!sticks[j]) set[m++] = j;
        if (factor(H, set, m, L)) return 1;
        for (j = 0; j < N; ++j) v[j] = sticks[j] ? 0.0 : r[j] - h * fc[j] * mode[j];
        solve(L, set, m, v, 1);
        for (j = 0; j < N && !(round > 12 && changed); ++j) {
            if (fc[j] <= 0.0)
                mode[j] = (v[j] > 0.0) - (v[j] < 0.0);
            else if (sticks[j]) {
                double f = r[j];
                for (k = 0; k < m; ++k) f -= H[j * N + set[k]] * v[set[k]];
                f /= h;
                if (f > fc[j] || f < -fc[j]) { sticks[j] = 0; mode[j] = f > 0.0 ? 1 : -1; changed = 1; }
            } else if (v[j] * mode[j] <= 0.0) { sticks[j] = 1; mode[j] = 0; changed = 1; }
        }
        if (!changed) break;
    }
    *size = m;
    return 0;
}

/* to += W S, rows of S of a multiple of eight, 32 columns at once where there are so many. */
static inline void chained_block(const double *W, const double *S, int rows, long P, double *to, const int width)
{
    double sum[32];
    int j, k;
    for (k = 0; k < width; ++k) sum[k] = to[k];
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

/* S: derivatives of the state in P parameters, rows of `stride`, then space for the new ones of velocities and memory;
   parameters: entry e of the derivatives in p, in its row, counts in a column of S. */
int casid_rollout(long steps, long P, long stride, long shown, long entries, const double *h_, const double *u_,
                  const double *du_, const double *on_, const double *push_, const double *clock_,
                  const long long *emit, const double *par, const long long *entry, const long long *row,
                  const long long *column, double *y, double *slides, double *sticks, double *modes, double *q_out,
                  double *S_out, double *S)
{
    double M[N * N], b[N], vn[N] = {0.0}, Y0[Y], H[N * N], r[N], fc[N], L[N][N], asked[2 * LINKS], after[MEMORY + 1];
    double A[(N + MEMORY) * (Y + N)], B[ENTRIES + 1], *T = S + Y * stride;
    int set[N], i, j, m, round, changed;
    long t = 0, c, sample = 0;
    CALL(START, Y0, slides, sticks, modes);
    memcpy(y, Y0, sizeof Y0);
    for (t = -1; t < steps; ++t) {
        if (t >= 0) {
            CALL(MOTION, M, b);
            for (round = 0, changed = 1; changed && round < (N > LINKS ? 20 : 6); ++round) {
                CALL(LAW, H, r, fc);
                if (step_velocity(H, r, fc, h_[t], slides, sticks, L, set, &m, vn)) goto fail;
                CALL(SWITCH, asked);
                for (changed = 0, j = 0; j < 2 * LINKS; ++j) changed |= asked[j] != modes[j], modes[j] = asked[j];
            }
            for (i = 0; i < N; ++i)
                if (!(vn[i] < 1e4 && vn[i] > -1e4)) goto fail;
            if (P) {
                CALL(SLOPES, A, B);
                memset(T, 0, sizeof(double) * (size_t)((N + MEMORY) * stride));
                for (c = 0; c < entries; ++c) T[row[c] * stride + column[c]] += B[entry[c]];
                for (i = 0, j = 0; i < N; ++i)
                    if (j < m && set[j] == i) chained(A + i * (Y + N), S, Y, stride, T + i * stride), ++j;
                    else memset(T + i * stride, 0, sizeof(double) * (size_t)stride);
                solve(L, set, m, T, stride);
                for (i = N; i < N + MEMORY; ++i) chained(A + i * (Y + N), S, Y + N, stride, T + i * stride);
                memcpy(S + N * stride, T, sizeof(double) * (size_t)((N + MEMORY) * stride));
                for (c = 0; c < N * stride; ++c) S[c] += h_[t] * S[N * stride + c];
            }
            if (MEMORY) CALL(NEXT, after);
            for (i = 0; i < MEMORY; ++i) y[2 * N + i] = after[i];
            for (i = 0; i < N; ++i) y[N + i] = vn[i], y[i] += h_[t] * vn[i];
            if (!emit[t]) continue;
        }
        memcpy(q_out + sample * LINKS, y + shown, sizeof(double) * LINKS);
        for (c = 0; c < Y * stride; ++c) /* what has decayed: denormal numbers are slow */
            if (S[c] < 1e-100 && S[c] > -1e-100) S[c] = 0.0;
        for (i = 0; i < LINKS; ++i)
            memcpy(S_out + (sample * LINKS + i) * P, S + (shown + i) * stride, sizeof(double) * (size_t)P);
        ++sample;
    }
    return 0;
fail: /* a motion that no robot makes: far away, so that any other is better */
    for (; t < steps; ++t)
        if (emit[t]) {
            for (i = 0; i < LINKS; ++i) q_out[sample * LINKS + i] = 1e3;
            memset(S_out + sample++ * LINKS * P, 0, sizeof(double) * (size_t)(LINKS * P));
        }
    return 1;
}
