/* Runs the network on samples and compares its results with Halyard's, within the error bounds that
 * the network's operators add up to. */
#include "@name@.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int failures, equal, total;
static double worst;
static uint32_t hash = 2166136261u; /* of the results' bits: equal on all machines */

static void compare(const char *what, const float *got, const float *expected, int32_t elements,
                    double allowed) {
    int32_t i;
    for (i = 0; i < elements; i++) {
        const double error = fabs((double)got[i] - (double)expected[i]);
        uint32_t bits;
        memcpy(&bits, &got[i], sizeof bits);
        hash = (hash ^ bits) * 16777619u;
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
@calls@    printf("%s: %d results, %d have Halyard's bits, the largest error is %g; %d are wrong; bits "
           "%08lx\n",
           failures ? "FAILED" : "ok", total, equal, worst, failures, (unsigned long)hash);
    return failures != 0;
}
