/* Runs the network on samples and compares its results with Halyard's, bit for bit. */
#include "@name@.h"

#include <stdio.h>
#include <string.h>

static int failures, total;
static uint32_t hash = 2166136261u; /* of the results' bytes: equal on all machines of a byte order */
static @type@ y[@elements@];

static void compare(const char *what, const @type@ *got, const @type@ *expected) {
    int32_t i;
    for (i = 0; i < @elements@; i++) {
        unsigned char bytes[sizeof got[i]];
        size_t k;
        memcpy(bytes, &got[i], sizeof bytes);
        for (k = 0; k < sizeof bytes; k++)
            hash = (hash ^ bytes[k]) * 16777619u;
        total++;
        if (got[i] == expected[i]) continue;
        if (failures++ < 10)
            printf("y[%ld] of %s is %.9g, expected %.9g\n", (long)i, what, (double)got[i],
                   (double)expected[i]);
    }
}

@tests@int main(void) {
@calls@    printf("%s: %d results, %d differ from Halyard's; bits %08lx\n", failures ? "FAILED" : "ok",
           total, failures, (unsigned long)hash);
    return failures != 0;
}
