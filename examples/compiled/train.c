/* Trains LeNet-5 with the library that `halyard compile` made of its step, and compares with the
 * losses and tensors of another training. Usage: train STEPS TENSORS
 *   STEPS: batches of 32, each as images f32, labels i32, the learning rate f64, the loss f32
 *   TENSORS: those after the last step, each as a name of 64 bytes, its bytes in an i64, elements */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lenet5.h"

static int complain(const char *what, const hy_error *error) {
    fprintf(stderr, "%s: %s\n", what, error->text);
    return 1;
}

static int train(lenet5_step *step, FILE *file) {
    static float images[32 * 32 * 32];
    int32_t labels[32];
    double rate, numbers[LENET5_NUMBERS];
    float expected, loss = 0;
    int steps = 0;
    hy_error error;
    while (fread(images, sizeof images, 1, file) == 1) {
        if (fread(labels, sizeof labels, 1, file) != 1 || fread(&rate, sizeof rate, 1, file) != 1 ||
            fread(&expected, sizeof expected, 1, file) != 1)
            return 1;
        for (int k = 0; k < LENET5_NUMBERS; k++)
            numbers[k] = rate;
        if (lenet5_run(step, images, labels, numbers, &loss, &error))
            return complain("step", &error);
        steps++;
        if (memcmp(&loss, &expected, sizeof loss) == 0) continue;
        fprintf(stderr, "step %d: loss %.9g, expected %.9g\n", steps, loss, expected);
        return 1;
    }
    printf("%d steps, last loss %.9g\n", steps, loss);
    labels[3] = 10; /* the kernels trust labels, so the library checks them */
    return !lenet5_run(step, images, labels, numbers, &loss, &error) ||
           !strstr(error.text, "labels 3 is 10, expected 0 to 9");
}

static int compare(lenet5_step *step, FILE *file) {
    char name[64];
    int64_t bytes;
    int tensors = 0;
    hy_error error;
    while (fread(name, sizeof name, 1, file) == 1 && fread(&bytes, sizeof bytes, 1, file) == 1) {
        hy_tensor tensor;
        char *expected = malloc((size_t)bytes);
        if (!expected || fread(expected, (size_t)bytes, 1, file) != 1) return 1;
        if (lenet5_tensor(step, name, &tensor, &error)) return complain(name, &error);
        if (memcmp(expected, tensor.data, (size_t)bytes) != 0) {
            fprintf(stderr, "%s differs\n", name);
            return 1;
        }
        free(expected);
        tensors++;
    }
    printf("%d tensors are equal\n", tensors);
    return tensors == 0;
}

int main(int argc, char **argv) {
    hy_error error;
    if (argc != 3) return 2;
    FILE *steps = fopen(argv[1], "rb"), *tensors = fopen(argv[2], "rb");
    lenet5_step *step = lenet5_open(&error);
    if (!step) return complain("open", &error);
    const int failed = !steps || !tensors || train(step, steps) || compare(step, tensors);
    lenet5_close(step);
    return failed;
}
