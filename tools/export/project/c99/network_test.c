/* Runs the network on samples and compares its results with Halyard's, within the error bounds that
 * the network's operators add up to. */
#include "@name@.h"

#include <math.h>
#include <stdio.h>

static int failures, equal, total;
static double worst;

static void compare(const char *what, const float *got, const float *expected, int32_t elements,
                    double allowed) {
    int32_t i;
    for (i = 0; i < elements; i++) {
        const double error = fabs((double)got[i] - (double)expected[i]);
        total++;
        if (got[i] == expected[i]) equal++;
        if (error > worst) worst = error;
        if (error <= allowed) continue;
        if (failures++ < 10)
            printf("%s[%ld] is %.9g, expected %.9g, by at most %g\n", what, (long)i,
                   (double)got[i], (double)expected[i], allowed);
    }
}

@tests@int main(void) {
@calls@    printf("%s: %d results, %d have Halyard's bits, the largest error is %g; %d are wrong\n",
           failures ? "FAILED" : "ok", total, equal, worst, failures);
    return failures != 0;
}
