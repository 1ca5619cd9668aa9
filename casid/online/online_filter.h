/* Recursive identification: square-root information filter with directional forgetting. No allocation, no recursion,
   bounded loops.
   The file is included by the generated one, which defines, for a filter called NAME:
     NJ      joints: equations of one sample            NR      parameters of the filter
     NL      links, ten unknowns each                   NPOS    non-negative terms         NFREE  terms of any sign
     NX      = 10 NL + NPOS + NFREE
     WEIGHTS[NJ], COMBINE[NR * NX] (filter = COMBINE x), BODIES[10 NL], POSITIVE[NPOS + 1], FREE[NFREE + 1]
     KEEP    share that is kept of what a sample speaks about (1: nothing is forgotten)
     MU      weight of the divergence from the plausible bodies
     SILENT  share of |R| |y| below which |R y| is rounding
     WARM    Newton steps after which a start that has not come near the optimum is left for the central path
     FIRST, SMALLEST, STEEPEST, SLOW   factor between weights along the path, and the steps that make it smaller
     KEPT    share of every body that a step leaves
     LARGEST size beyond which no number is a measurement's
     ROWS(q, dq, ddq, tau, Y, e)   regressor, NJ x NR by rows, and right-hand side, both without weights */

#define STATE NAME(_state)

/* Whether all numbers are finite, and so are sums of squares of their squares. */
static int NAME(_sound)(const double *v, int n) {
    for (int i = 0; i < n; i++)
        if (!(fabs(v[i]) <= LARGEST)) return 0;
    return 1;
}

/* What is known along the rows of the newest sample fades to the share KEEP. With unit vectors a along R Y', R'R loses
   (1 - KEEP) R'aa'R: Givens rotations that turn (sqrt(1 - KEEP) a; sqrt(KEEP)) into (0; 1) take that out of the
   triangle (Golub and Van Loan 2013, Sec. 6.5.4), backward stable and without a division by its diagonal. */
static void NAME(_forget)(STATE *s, double (*Y)[NR]) {
    double seen[NJ][NR], lengths[NR];
    const double fade = sqrt(1.0 - KEEP);
    int kept = 0;
    for (int k = 0; k < NR; k++) {
        double sum = 0.0;
        for (int i = 0; i <= k; i++) sum += s->R[i][k] * s->R[i][k];
        lengths[k] = sqrt(sum);
    }
    for (int j = 0; j < NJ; j++) {
        double silent = 0.0, length = 0.0;
        for (int k = 0; k < NR; k++) silent += fabs(Y[j][k]) * lengths[k];
        for (int i = 0; i < NR; i++) {
            double sum = 0.0;
            for (int k = i; k < NR; k++) sum += s->R[i][k] * Y[j][k];
            seen[kept][i] = sum;
        }
        for (int pass = 0; pass < 2; pass++) /* orthogonalised twice is orthogonal */
            for (int m = 0; m < kept; m++) {
                double dot = 0.0;
                for (int i = 0; i < NR; i++) dot += seen[m][i] * seen[kept][i];
                for (int i = 0; i < NR; i++) seen[kept][i] -= dot * seen[m][i];
            }
        for (int i = 0; i < NR; i++) length += seen[kept][i] * seen[kept][i];
        length = sqrt(length);
        if (length <= SILENT * silent) continue; /* nothing is known there: nothing to forget */
        for (int i = 0; i < NR; i++) seen[kept][i] /= length;
        kept++;
    }
    for (int m = 0; m < kept; m++) {
        double out[NR] = {0}, gamma = 0.0, others[NJ] = {0}, alpha = sqrt(KEEP); /* the row that is taken out */
        for (int i = NR - 1; i >= 0; i--) {
            const double a = fade * seen[m][i];
            if (a == 0.0) continue;
            const double length = sqrt(alpha * alpha + a * a), cosine = alpha / length, sine = a / length;
            alpha = length;
            for (int k = i; k < NR; k++) {
                const double r = s->R[i][k];
                s->R[i][k] = cosine * r - sine * out[k];
                out[k] = sine * r + cosine * out[k];
            }
            const double rho = s->rho[i];
            s->rho[i] = cosine * rho - sine * gamma;
            gamma = sine * rho + cosine * gamma;
            for (int n = m + 1; n < kept; n++) { /* the other directions turn with the rows */
                const double v = seen[n][i];
                seen[n][i] = cosine * v - sine * others[n];
                others[n] = sine * v + cosine * others[n];
            }
        }
    }
    s->rest *= KEEP;
    s->count *= KEEP;
}

/* NJ more equations, folded into the triangle by Householder reflections. */
static void NAME(_fold)(STATE *s, double (*Y)[NR], double *e) {
    for (int k = 0; k < NR; k++) {
        double norm = 0.0;
        for (int j = 0; j < NJ; j++) norm += Y[j][k] * Y[j][k];
        if (norm < 1e-290) continue; /* nothing, or rounding of rounding, whose square has no inverse */
        const double r = s->R[k][k], length = sqrt(r * r + norm), alpha = r > 0.0 ? -length : length;
        const double head = r - alpha, beta = 1.0 / (length * (length + fabs(r)));
        double column[NJ], dots[NR + 1];
        for (int j = 0; j < NJ; j++) column[j] = Y[j][k];
        for (int i = k + 1; i < NR; i++) dots[i] = head * s->R[k][i];
        double last = head * s->rho[k];
        for (int j = 0; j < NJ; j++) {
            for (int i = k + 1; i < NR; i++) dots[i] += column[j] * Y[j][i];
            last += column[j] * e[j];
        }
        for (int i = k + 1; i < NR; i++) dots[i] *= beta;
        last *= beta;
        s->R[k][k] = alpha;
        for (int i = k + 1; i < NR; i++) s->R[k][i] -= head * dots[i];
        s->rho[k] -= head * last;
        for (int j = 0; j < NJ; j++) {
            for (int i = k + 1; i < NR; i++) Y[j][i] -= column[j] * dots[i];
            e[j] -= column[j] * last;
        }
    }
    for (int j = 0; j < NJ; j++) s->rest += e[j] * e[j];
    s->count += NJ;
}

int NAME(_update)(STATE *s, const double q[NQ], const double dq[NQ], const double ddq[NQ], const double tau[NQ]) {
    double Y[NJ][NR], e[NJ];
    if (!NAME(_sound)(q, NQ) || !NAME(_sound)(dq, NQ) || !NAME(_sound)(ddq, NQ) || !NAME(_sound)(tau, NQ)) return 1;
    ROWS(q, dq, ddq, tau, &Y[0][0], e);
    for (int j = 0; j < NJ; j++) {
        for (int i = 0; i < NR; i++) Y[j][i] *= WEIGHTS[j];
        e[j] *= WEIGHTS[j];
    }
    if (!NAME(_sound)(&Y[0][0], NJ * NR) || !NAME(_sound)(e, NJ)) return 1;
    if (KEEP < 1.0) NAME(_forget)(s, Y);
    NAME(_fold)(s, Y, e);
    return 0;
}
