/* Prints the nanoseconds of a call of relu with 16 elements in an exported C library, the least of 20
 * runs.
 *
 * usage: call_cost LIBRARY */
#include "hy.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef hy_op *(*find_function)(const char *, const char *, hy_error *);
typedef int32_t (*call_function)(const hy_op *, const hy_tensor *, int32_t, const hy_tensor *,
                                 int32_t, hy_error *);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int count, char **arguments) {
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    if (!library) return 2;
    find_function find;
    call_function call;
    *(void **)&find = dlsym(library, "hy_find");
    *(void **)&call = dlsym(library, "hy_call");
    enum { CALLS = 20000 };
    float x[16] = {0}, y[16];
    int64_t shape[1] = {16};
    hy_tensor in = {.data = x, .device = {HY_CPU, 0}, .ndim = 1, .dtype = {HY_FLOAT, 32, 1}, .shape = shape};
    hy_tensor out = in;
    out.data = y;
    hy_op *op = find("relu", NULL, NULL);
    if (!op) return 1;
    double least = 1e18;
    for (int run = 0; run < 20; run++) {
        const double start = now();
        for (int i = 0; i < CALLS; i++)
            if (call(op, &in, 1, &out, 1, NULL)) return 1;
        const double took = (now() - start) / CALLS;
        if (took < least) least = took;
    }
    printf("%.0f\n", least);
    return 0;
}
