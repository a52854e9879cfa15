/* Runs the network on samples and compares its results with Halyard's, bit for bit. */
#include "@name@.h"

#include <stdio.h>

static int failures, total;
static @type@ y[@elements@];

static void compare(const char *what, const @type@ *got, const @type@ *expected) {
    int32_t i;
    for (i = 0; i < @elements@; i++) {
        total++;
        if (got[i] == expected[i]) continue;
        if (failures++ < 10)
            printf("y[%ld] of %s is %.9g, expected %.9g\n", (long)i, what, (double)got[i],
                   (double)expected[i]);
    }
}

@tests@int main(void) {
@calls@    printf("%s: %d results, %d differ from Halyard's\n", failures ? "FAILED" : "ok", total,
           failures);
    return failures != 0;
}
