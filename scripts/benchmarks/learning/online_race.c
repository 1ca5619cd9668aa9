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
