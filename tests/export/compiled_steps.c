/* Repeats steps of a training by the library that `halyard compile` made of its first, and compares
 * losses and tensors bit for bit. Compile it with -DHEADER='"net.h"' -DSTEP(word)=net_##word
 * -DNUMBERS=... -DIMAGES=... (floats of a batch) -DLABELS=... Usage: compiled_steps STEPS TENSORS,
 * files of eager_steps. */
#include HEADER

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float images[IMAGES];
static int32_t labels[LABELS];

static void expect(int holds, const char *what) {
    if (holds) return;
    printf("FAILED: %s\n", what);
    exit(1);
}

static int take(FILE *file, void *to, size_t bytes) {
    return fread(to, bytes, 1, file) == 1;
}

static int run_steps(STEP(step) * step, FILE *file) {
    int steps = 0;
    double number, numbers[NUMBERS];
    float expected, loss = 0;
    hy_error error;
    while (take(file, images, sizeof images)) {
        expect(take(file, labels, sizeof labels) && take(file, &number, sizeof number) &&
                   take(file, &expected, sizeof expected),
               "a step is cut off");
        for (int k = 0; k < NUMBERS; k++)
            numbers[k] = number;
        expect(STEP(run)(step, images, labels, numbers, &loss, &error) == HY_OK, error.text);
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

int main(int count, char **paths) {
    hy_error error;
    expect(count == 3, "usage: compiled_steps STEPS TENSORS");
    STEP(step) *step = STEP(open)(&error);
    FILE *steps = fopen(paths[1], "rb"), *tensors = fopen(paths[2], "rb");
    expect(step && steps && tensors, "can't open the step or its files");
    const int ran = run_steps(step, steps);
    printf("ok: %d steps, %d tensors\n", ran, compare_tensors(step, tensors));
    fclose(steps);
    fclose(tensors);
    STEP(close)(step);
    return 0;
}
