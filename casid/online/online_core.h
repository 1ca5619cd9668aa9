/* Physically consistent estimates: Newton's method on a self-concordant objective, whose decrement proves how near the
   optimum is. No allocation, no recursion, bounded loops. Included by the generated file after online_filter.h, which
   says what that file defines. */

/* The plausible values: the optimum for an infinite weight of the divergence. */
static void NAME(_restart)(double *x) {
    memcpy(x, BODIES, sizeof BODIES);
    for (int i = 0; i < NPOS; i++) x[10 * NL + i] = POSITIVE[i];
    for (int i = 0; i < NFREE; i++) x[10 * NL + NPOS + i] = 0.0;
}

void NAME(_init)(STATE *s) {
    memset(s, 0, sizeof *s);
    NAME(_restart)(s->x);
}

/* J of ten parameters, lower triangle; its Cholesky factor in place; 0 if it is not positive definite. */
static int NAME(_factor)(const double *p, double L[4][4]) {
    const double half = (p[0] + p[3] + p[5]) / 2;
    L[0][0] = half - p[0];
    L[1][0] = -p[1], L[1][1] = half - p[3];
    L[2][0] = -p[2], L[2][1] = -p[4], L[2][2] = half - p[5];
    L[3][0] = p[6], L[3][1] = p[7], L[3][2] = p[8], L[3][3] = p[9];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j <= i; j++) {
            double sum = L[i][j];
            for (int k = 0; k < j; k++) sum -= L[i][k] * L[j][k];
            if (i == j) {
                if (!(sum > 0.0)) return 0;
                L[i][i] = sqrt(sum);
            } else
                L[i][j] = sum / L[j][j];
        }
    return 1;
}

static void NAME(_invert)(double L[4][4], double W[4][4]) {
    double inv[4][4] = {{0}};
    for (int j = 0; j < 4; j++) {
        inv[j][j] = 1.0 / L[j][j];
        for (int i = j + 1; i < 4; i++) {
            double sum = 0.0;
            for (int k = j; k < i; k++) sum -= L[i][k] * inv[k][j];
            inv[i][j] = sum / L[i][i];
        }
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int k = i; k < 4; k++) sum += inv[k][i] * inv[k][j];
            W[i][j] = W[j][i] = sum;
        }
}

/* tr(E_a S) for the ten directions E_a = dJ / dp_a and a symmetric S. */
static void NAME(_trace)(double S[4][4], double *out) {
    const double trace = S[0][0] + S[1][1] + S[2][2];
    out[0] = trace / 2 - S[0][0], out[3] = trace / 2 - S[1][1], out[5] = trace / 2 - S[2][2];
    out[1] = -2 * S[0][1], out[2] = -2 * S[0][2], out[4] = -2 * S[1][2];
    out[6] = 2 * S[0][3], out[7] = 2 * S[1][3], out[8] = 2 * S[2][3], out[9] = S[3][3];
}

/* Half of J's second-order form: column b of the Hessian of -log det is tr(E_a W E_b W). */
static void NAME(_curve)(double W[4][4], double H[10][10]) {
    static const signed char at[10][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}, {0, 3}, {1, 3}, {2, 3}, {3, 3}};
    for (int b = 0; b < 10; b++) {
        double S[4][4];
        const int i = at[b][0], j = at[b][1], diagonal = b == 0 || b == 3 || b == 5;
        const double sign = b < 6 ? -1.0 : 1.0;
        for (int m = 0; m < 4; m++)
            for (int n = 0; n < 4; n++) {
                double v = i == j ? W[m][i] * W[i][n] : W[m][i] * W[j][n] + W[m][j] * W[i][n];
                v *= sign;
                if (diagonal) v += (W[m][0] * W[0][n] + W[m][1] * W[1][n] + W[m][2] * W[2][n]) / 2;
                S[m][n] = v;
            }
        double column[10];
        NAME(_trace)(S, column);
        for (int a = 0; a < 10; a++) H[a][b] = column[a];
    }
}

/* Divergence from the plausible bodies and terms; < 0 outside the physical set. */
static double NAME(_divergence)(const STATE *s, const double *x) {
    double L[4][4], sum = 0.0;
    for (int k = 0; k < NL; k++) {
        if (!NAME(_factor)(x + 10 * k, L)) return -1.0;
        sum += s->logdet0[k] - 2 * log(L[0][0] * L[1][1] * L[2][2] * L[3][3]) - 4;
        for (int a = 0; a < 10; a++) sum += s->slope0[k][a] * x[10 * k + a];
    }
    for (int i = 0; i < NPOS; i++) {
        const double ratio = x[10 * NL + i] / POSITIVE[i];
        if (!(ratio > 0.0)) return -1.0;
        sum += ratio - log(ratio) - 1;
    }
    for (int i = 0; i < NFREE; i++) {
        const double ratio = x[10 * NL + NPOS + i] / FREE[i];
        sum += ratio * ratio;
    }
    return sum > 0.0 ? sum : 0.0;
}

/* Weight of the divergence at which the plausible values are near the optimum: twice the length of the data's gradient
   in the metric of the divergence, whose Hessian is block-diagonal there. */
static double NAME(_first_weight)(const double *pull) {
    double sum = 0.0;
    for (int k = 0; k < NL; k++) {
        double L[4][4], W[4][4], C[10][10], y[10];
        NAME(_factor)(BODIES + 10 * k, L);
        NAME(_invert)(L, W);
        NAME(_curve)(W, C);
        for (int a = 0; a < 10; a++) {
            double rest = pull[10 * k + a];
            for (int b = 0; b <= a; b++) {
                double v = C[a][b];
                for (int c = 0; c < b; c++) v -= C[a][c] * C[b][c];
                C[a][b] = a == b ? sqrt(v) : v / C[b][b];
                if (b < a) rest -= C[a][b] * y[b];
            }
            y[a] = rest / C[a][a];
            sum += y[a] * y[a];
        }
    }
    for (int i = 0; i < NPOS; i++) sum += pull[10 * NL + i] * POSITIVE[i] * pull[10 * NL + i] * POSITIVE[i];
    for (int i = 0; i < NFREE; i++) {
        const double v = pull[10 * NL + NPOS + i] * FREE[i];
        sum += v * v / 2;
    }
    sum = 2 * sqrt(sum);
    return sum > MU ? sum : MU;
}

/* The last estimate is left for the central path. */
static double NAME(_leave)(STATE *s) {
    NAME(_restart)(s->x);
    s->suboptimality = HUGE_VAL;
    s->used = s->tried = s->stage = 0;
    s->decrease = FIRST;
    return NAME(_divergence)(s, s->x);
}

int NAME(_estimate)(STATE *s, int iterations) {
    double (*H0)[NX] = s->H0, (*H)[NX] = s->H, *x = s->x;
    /* Weight of the divergence: larger at the beginning of the central path. One that was cut short goes on there. */
    int done, path = s->weight == HUGE_VAL ? 1 : s->weight > 0.0 ? 2 : 0, stuck = 0, sure = 0;
    double weight = path == 2 ? s->weight : MU;
    for (int k = 0; k < NL; k++) {
        double L[4][4], W[4][4];
        NAME(_factor)(BODIES + 10 * k, L);
        s->logdet0[k] = 2 * log(L[0][0] * L[1][1] * L[2][2] * L[3][3]);
        NAME(_invert)(L, W);
        NAME(_trace)(W, s->slope0[k]);
    }
    /* A = R COMBINE, H0 = 2 A'A */
    for (int i = 0; i < NR; i++) {
        double *row = s->A[i];
        memset(row, 0, sizeof s->A[i]);
        for (int k = i; k < NR; k++) {
            const double r = s->R[i][k];
            const double *combine = COMBINE + k * NX;
            if (r != 0.0)
                for (int j = 0; j < NX; j++) row[j] += r * combine[j];
        }
    }
    memset(H0, 0, sizeof s->H0);
    for (int i = 0; i < NR; i++)
        for (int a = 0; a < NX; a++) {
            const double v = 2 * s->A[i][a];
            if (v == 0.0) continue;
            for (int b = 0; b <= a; b++) H0[a][b] += v * s->A[i][b];
        }
    double divergence = NAME(_divergence)(s, x);
    s->suboptimality = HUGE_VAL;
    for (done = 0; done <= iterations; done++) {
        double g[NX], move[NX], scale[NX], pull[NX] = {0}, decrement = 0.0, slope = 0.0, curvature = 0.0;
        for (int i = 0; i < NR; i++) { /* gradient of the data term, 2 A'(A x - rho): rounding lies where A is steep */
            double error = -s->rho[i];
            for (int a = 0; a < NX; a++) error += s->A[i][a] * x[a];
            for (int a = 0; a < NX; a++) pull[a] += 2 * error * s->A[i][a];
        }
        if (path == 1) weight = NAME(_first_weight)(pull), path = 2;
        memcpy(g, pull, sizeof g);
        for (int a = 0; a < NX; a++) memcpy(H[a], H0[a], (size_t)(a + 1) * sizeof(double));
        for (int k = 0; k < NL; k++) {
            double L[4][4], W[4][4], own[10], block[10][10];
            NAME(_factor)(x + 10 * k, L);
            NAME(_invert)(L, W);
            NAME(_trace)(W, own);
            NAME(_curve)(W, block);
            for (int a = 0; a < 10; a++) {
                g[10 * k + a] += weight * (s->slope0[k][a] - own[a]);
                for (int b = 0; b <= a; b++) H[10 * k + a][10 * k + b] += weight * block[a][b];
            }
        }
        for (int i = 0; i < NPOS; i++) {
            const int a = 10 * NL + i;
            g[a] += weight * (1 / POSITIVE[i] - 1 / x[a]);
            H[a][a] += weight / (x[a] * x[a]);
        }
        for (int i = 0; i < NFREE; i++) {
            const int a = 10 * NL + NPOS + i;
            g[a] += 2 * weight * x[a] / (FREE[i] * FREE[i]);
            H[a][a] += 2 * weight / (FREE[i] * FREE[i]);
        }
        for (int a = 0; a < NX; a++) scale[a] = 1 / sqrt(H[a][a]);
        for (int a = 0; a < NX; a++)
            for (int b = 0; b <= a; b++) H[a][b] *= scale[a] * scale[b];
        int sound = 1;
        for (int a = 0; a < NX; a++) { /* Cholesky by rows */
            for (int b = 0; b < a; b++) {
                double sum = H[a][b];
                for (int c = 0; c < b; c++) sum -= H[a][c] * H[b][c];
                H[a][b] = sum / H[b][b];
            }
            double sum = H[a][a];
            for (int c = 0; c < a; c++) sum -= H[a][c] * H[a][c];
            H[a][a] = sqrt(sum);
            sound &= sum > 0.0;
        }
        if (!sound) { /* rounding: x stays the physical point it was, or another way is taken */
            if (path) {
                stuck = 1;
                break;
            }
            divergence = NAME(_leave)(s);
            path = 1;
            continue;
        }
        for (int a = 0; a < NX; a++) {
            double sum = -scale[a] * g[a];
            for (int c = 0; c < a; c++) sum -= H[a][c] * move[c];
            move[a] = sum / H[a][a];
        }
        for (int a = NX - 1; a >= 0; a--) {
            const double v = move[a] / H[a][a];
            move[a] = v;
            for (int c = 0; c < a; c++) move[c] -= H[a][c] * v;
        }
        for (int a = 0; a < NX; a++) {
            move[a] *= scale[a];
            decrement -= g[a] * move[a];
            slope += pull[a] * move[a];
        }
        decrement = decrement > 0.0 ? sqrt(decrement / weight) : 0.0;
        if (decrement < 1.0 && weight == MU) s->suboptimality = MU * (-decrement - log1p(-decrement));
        sure = decrement < SETTLED && weight == MU;
        if (sure || done == iterations) break;
        for (int i = 0; i < NR; i++) {
            double sum = 0.0;
            for (int a = 0; a < NX; a++) sum += s->A[i][a] * move[a];
            curvature += sum * sum;
        }
        s->stage++;
        if (weight > MU)
            s->used++;
        else if (s->suboptimality == HUGE_VAL && s->tried++ >= WARM + s->used) { /* the last estimate was almost singular */
            divergence = NAME(_leave)(s);
            path = 1;
            continue;
        }
        double length = 1.0, next = 0.0;
        int found = 0;
        for (int trial = 0; trial < 60 && !found; trial++) {
            for (int a = 0; a < NX; a++) s->trial[a] = x[a] + length * move[a];
            next = NAME(_divergence)(s, s->trial);
            if (next >= 0.0) {
                const double change = length * slope + length * length * curvature + weight * (next - divergence);
                found = change <= -DECREASE * length * weight * decrement * decrement || decrement < DECREASE;
            }
            if (found) { /* a share of every body is left: nearer to the boundary, the next steps are small */
                for (int a = 0; a < NX; a++) s->trial[a] -= KEPT * x[a];
                found = NAME(_divergence)(s, s->trial) >= 0.0;
            }
            if (!found) length /= 2;
        }
        if (!found) {
            stuck = 1;
            break;
        }
        for (int a = 0; a < NX; a++) x[a] += length * move[a];
        divergence = next;
        if (decrement < 1.0 && weight > MU) {
            s->decrease =
                s->stage > SLOW ? fmax(sqrt(s->decrease), SMALLEST) : fmin(s->decrease * s->decrease, STEEPEST);
            weight = fmax(weight / s->decrease, MU);
            s->stage = 0;
        }
    }
    s->iterations = done;
    if (stuck || sure) {
        s->weight = 0.0, s->used = s->tried = 0;
        return s->suboptimality < HUGE_VAL ? 0 : 2;
    }
    s->weight = path == 1 ? HUGE_VAL : path == 2 ? weight : 0.0; /* of the path, which may not have begun */
    return 1;
}
