/* Compares the functions of @prefix@.h with numbers evaluated in Python. Written by casid. */
#include "@prefix@.h"

#include <math.h>
#include <stdio.h>

/* Largest deviation, as a multiple of what rounding allows. */
static double deviation(int size, const double *value, const double *expected, double allowed)
{
    double worst = 0.0;
    int i;
    for (i = 0; i < size; ++i) {
        const double error = fabs(value[i] - expected[i]);
        if (value[i] == expected[i] || (isnan(value[i]) && isnan(expected[i])))
            continue;
        if (!(error <= worst * allowed))
            worst = isnan(error) ? HUGE_VAL : error / allowed;
    }
    return worst;
}

@tests@
static int report(const char *name, double worst)
{
    printf("%-50s deviates by %.1e of what rounding allows  %s\n", name, worst, worst <= 1.0 ? "ok" : "FAILED");
    return !(worst <= 1.0);
}

int main(void)
{
    int failed = 0;
@reports@
    return failed;
}
