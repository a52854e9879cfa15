/* Writes the bits of C's functions in f32 for the same 65,536 arguments each into the file RESULTS:
 * those of other machines' libraries differ. Arguments have both signs, and magnitudes from 6e-8
 * to 80. `make arm` runs it. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static float powf_1_7(float x) {
    return powf(fabsf(x), 1.7f);
}

static float atan2f_1_7(float x) {
    return atan2f(x, 1.7f);
}

static float (*const functions[])(float) = {
    /* in the order of scripts/function_bits.py */
    expf,   exp2f, expm1f, logf,  log2f, log10f,   log1pf,    sinf,   cosf,
    tanf,   tanhf, sinhf,  coshf, asinf, acosf,    atanf,     asinhf, acoshf,
    atanhf, erff,  erfcf,  sqrtf, rintf, powf_1_7, atan2f_1_7};

static float argument(uint32_t i) {
    const uint32_t mixed = i * UINT32_C(2654435761);
    const uint32_t smallest = 0x33800000, end = 0x42a00000;
    const uint32_t bits = (smallest + (mixed >> 4) % (end - smallest)) | (mixed & 1) << 31;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float y) {
    uint32_t bits = 0x7fc00000; /* any NaN is the same */
    if (y == y) memcpy(&bits, &y, sizeof bits);
    return bits;
}

int main(void) {
    static uint32_t results[65536];
    FILE *file = fopen(RESULTS, "wb");
    size_t k;
    uint32_t i;
    if (!file) return 1;
    for (k = 0; k < sizeof functions / sizeof *functions; k++) {
        for (i = 0; i < 65536; i++)
            results[i] = bits_of(functions[k](argument(i)));
        if (fwrite(results, sizeof *results, 65536, file) != 65536) return 1;
    }
    return fclose(file) != 0;
}
