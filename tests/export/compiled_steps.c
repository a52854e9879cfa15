/* Repeats steps of a training by the library that `halyard compile` made of its first, and compares
 * losses and tensors bit for bit. Compile it with -DHEADER='"net.h"' -DSTEP(word)=net_##word
 * -DNUMBERS=... -DX=float -DINPUTS=... (elements x0 of a batch) -DLABELS=... -DY=float (the loss),
 * -DRANDOM where random numbers are drawn, -DCHECKS_LABELS where labels are checked.
 * Usage: compiled_steps STEPS TENSORS, files of eager_steps. */
#include HEADER

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static X inputs[INPUTS];
static int32_t labels[LABELS];

static void expect(int holds, const char *what) {
    if (holds) return;
    printf("FAILED: %s\n", what);
    exit(1);
}

static int take(FILE *file, void *to, size_t bytes) {
    return fread(to, bytes, 1, file) == 1;
}

/* Begins where eager_steps does. */
static void set_generator(STEP(step) * step) {
#ifdef RANDOM
    const uint64_t begin = ((uint64_t)1 << 32) - 3;
    uint64_t seed = 1, offset = 1;
    STEP(get_rng_state)(step, &seed, &offset);
    expect(seed == 0 && offset == 0, "the generator doesn't begin at {0, 0}");
    STEP(set_rng_state)(step, 11, begin);
    STEP(get_rng_state)(step, &seed, &offset);
    expect(seed == 11 && offset == begin, "the generator's state isn't the one that was set");
#else
    (void)step;
#endif
}

static int run_steps(STEP(step) * step, FILE *file) {
    int steps = 0;
    double number, numbers[NUMBERS];
    Y expected, loss = 0;
    hy_error error;
    while (take(file, inputs, sizeof inputs)) {
        expect(take(file, labels, sizeof labels) && take(file, &number, sizeof number) &&
                   take(file, &expected, sizeof expected),
               "a step is cut off");
        for (int k = 0; k < NUMBERS; k++)
            numbers[k] = number;
        expect(STEP(run)(step, inputs, labels, numbers, &loss, &error) == HY_OK, error.text);
        expect(memcmp(&loss, &expected, sizeof loss) == 0, "a loss has other bits");
        steps++;
    }
    return steps;
}

static int compare_tensors(STEP(step) * step, FILE *file) {
    int tensors = 0;
    char name[64];
    int64_t bytes;
    hy_error error;
    hy_tensor tensor;
    while (take(file, name, sizeof name) && take(file, &bytes, sizeof bytes)) {
        unsigned char *expected = malloc((size_t)bytes);
        expect(expected && take(file, expected, (size_t)bytes), "a tensor is cut off");
        /* A tensor that no step reads, as a momentum of what isn't trained, isn't there. */
        if (STEP(tensor)(step, name, &tensor, &error) == HY_OK) {
            expect(memcmp(tensor.data, expected, (size_t)bytes) == 0, name);
            tensors++;
        }
        free(expected);
    }
    return tensors;
}

#ifdef CHECKS_LABELS
/* A label out of range is an error, after which the step goes on as if there had been no run. */
static void expect_refusal(STEP(step) * step) {
    double numbers[NUMBERS] = {0};
    Y loss = 0;
    hy_error error;
    const int32_t label = labels[0];
    labels[0] = 1 << 20;
    expect(STEP(run)(step, inputs, labels, numbers, &loss, &error) != HY_OK, "a label is taken");
    expect(strstr(error.text, "is 1048576, expected 0 to ") != NULL, error.text);
    labels[0] = label;
}
#endif

int main(int count, char **paths) {
    hy_error error;
    expect(count == 3, "usage: compiled_steps STEPS TENSORS");
    STEP(step) *step = STEP(open)(&error);
    FILE *steps = fopen(paths[1], "rb"), *tensors = fopen(paths[2], "rb");
    expect(step && steps && tensors, "can't open the step or its files");
    set_generator(step);
    const int ran = run_steps(step, steps);
#ifdef CHECKS_LABELS
    expect_refusal(step);
#endif
    printf("ok: %d steps, %d tensors\n", ran, compare_tensors(step, tensors));
    fclose(steps);
    fclose(tensors);
    STEP(close)(step);
    return 0;
}
