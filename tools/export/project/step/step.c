/* Runs the calls of step_tables.h in their order, on one block of memory. */
#include "@name@.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tensor of a call: a view of a buffer. */
typedef struct view {
    int32_t buffer;
    int64_t offset; /* in bytes */
    hy_dtype dtype;
    int32_t ndim;
    int64_t shape[HY_MAX_RANK], strides[HY_MAX_RANK];
} view;

/* A call; its views follow those of the call before, inputs first. Without an op it copies its
 * input's elements to its output, or without an input sets all elements to `element`. */
typedef struct call {
    const char *op, *attributes;
    int32_t inputs, outputs;
    int64_t element; /* the bits, as they lie in memory */
} call;

/* A real attribute that is a number of the step. */
typedef struct place {
    int32_t call;
    const char *attribute;
    int32_t number;
} place;

/* Labels of an argument, which kernels trust: 0 to classes - 1, or the ignored one. */
typedef struct label_check {
    const char *op, *name;
    int32_t argument;
    int64_t count, classes, ignored; /* ignored: one of 0 to classes - 1 if there is none */
} label_check;

/* What a buffer holds at first; others are zeros. */
typedef struct initial {
    int64_t offset, bytes, from;
} initial;

#include "step_tables.h"

/* The first values of the tensors. */
extern const unsigned char @name@_values[];
__asm__(".section .rodata\n.balign 64\n.globl @name@_values\n.hidden @name@_values\n"
        "@name@_values:\n.incbin \"step_values.bin\"\n.previous\n");

struct @name@_step {
    char *block;
    hy_op *ops[CALLS];
    hy_tensor tensors[VIEWS];
    double numbers[NUMBERS + 1]; /* that ops were found for */
    int has_numbers;
};

static int32_t fail(hy_error *error, int32_t code, const char *text) {
    if (error) {
        error->code = code;
        snprintf(error->text, sizeof error->text, "%s", text);
    }
    return code;
}

static int takes_numbers(int32_t c) {
    for (int32_t p = 0; p < PLACES; p++)
        if (places[p].call == c) return 1;
    return 0;
}

/* Finds the op of a call with these numbers. */
static int32_t find(@name@_step *step, int32_t c, const double *numbers, hy_error *error) {
    char text[ATTRIBUTE_BYTES];
    hy_error own;
    if (!calls[c].op) return HY_OK;
    size_t n = (size_t)snprintf(text, sizeof text, "%s", calls[c].attributes);
    for (int32_t p = 0; p < PLACES; p++) {
        if (places[p].call != c) continue;
        const size_t begin = n;
        n += (size_t)snprintf(text + n, sizeof text - n, " %s=%.17g", places[p].attribute,
                              numbers[places[p].number]);
        for (size_t k = begin; k < n; k++) /* the comma of some locales */
            if (text[k] == ',') text[k] = '.';
    }
    hy_op *op = hy_find(calls[c].op, text, &own);
    if (!op) return fail(error, own.code, own.text);
    hy_release(step->ops[c]);
    step->ops[c] = op;
    return HY_OK;
}

static int32_t set_numbers(@name@_step *step, const double *numbers, hy_error *error) {
    const size_t bytes = sizeof(double) * NUMBERS;
    if (step->has_numbers && memcmp(step->numbers, numbers, bytes) == 0) return HY_OK;
    step->has_numbers = 0;
    for (int32_t c = 0; c < CALLS; c++) {
        const int32_t code = takes_numbers(c) ? find(step, c, numbers, error) : HY_OK;
        if (code) return code;
    }
    memcpy(step->numbers, numbers, bytes);
    step->has_numbers = 1;
    return HY_OK;
}

static int32_t check_labels(const void *const *arguments, hy_error *error) {
    for (int32_t k = 0; k < LABEL_CHECKS; k++) {
        const label_check *check = &label_checks[k];
        const int32_t *labels = (const int32_t *)arguments[check->argument];
        for (int64_t i = 0; i < check->count; i++) {
            if ((labels[i] >= 0 && labels[i] < check->classes) || labels[i] == check->ignored)
                continue;
            char text[256];
            snprintf(text, sizeof text, "[%s] %s %lld is %d, expected 0 to %lld", check->op,
                     check->name, (long long)i, (int)labels[i], (long long)check->classes - 1);
            return fail(error, HY_OTHER, text);
        }
    }
    return HY_OK;
}

static void prepare(@name@_step *step) {
    for (int32_t k = 0; k < INITIALS; k++)
        memcpy(step->block + initials[k].offset, @name@_values + initials[k].from,
               (size_t)initials[k].bytes);
    for (int32_t v = 0; v < VIEWS; v++) {
        hy_tensor *t = &step->tensors[v];
        const int64_t at = buffers[views[v].buffer];
        t->device.device_type = HY_CPU;
        t->ndim = views[v].ndim;
        t->dtype = views[v].dtype;
        t->shape = (int64_t *)views[v].shape;
        t->strides = (int64_t *)views[v].strides;
        if (at >= 0) t->data = step->block + at + views[v].offset;
    }
}

@name@_step *@name@_open(hy_error *error) {
    @name@_step *step = calloc(1, sizeof *step);
    if (step) step->block = aligned_alloc(128, BLOCK_BYTES);
    if (!step || !step->block) {
        fail(error, HY_MEMORY, "[@name@] no memory for the step's tensors");
        free(step);
        return NULL;
    }
    memset(step->block, 0, BLOCK_BYTES);
    prepare(step);
    for (int32_t c = 0; c < CALLS; c++) {
        if (takes_numbers(c) || find(step, c, NULL, error) == HY_OK) continue;
        @name@_close(step);
        return NULL;
    }
    return step;
}

void @name@_close(@name@_step *step) {
    if (!step) return;
    for (int32_t c = 0; c < CALLS; c++)
        hy_release(step->ops[c]);
    free(step->block);
    free(step);
}

const char *@name@_tensor_name(int32_t k) {
    return k >= 0 && k < TENSORS ? names[k] : NULL;
}

int32_t @name@_tensor(@name@_step *step, const char *name, hy_tensor *tensor, hy_error *error) {
    if (!step || !name || !tensor) return fail(error, HY_NULL, "[@name@] an argument is null");
    for (int32_t k = 0; k < TENSORS; k++) {
        if (strcmp(names[k], name) != 0) continue;
        memset(tensor, 0, sizeof *tensor);
        tensor->data = step->block + buffers[named[k].buffer];
        tensor->device.device_type = HY_CPU;
        tensor->ndim = named[k].ndim;
        tensor->dtype = named[k].dtype;
        tensor->shape = (int64_t *)named[k].shape;
        return HY_OK;
    }
    char text[256];
    snprintf(text, sizeof text, "[@name@] there is no tensor '%.200s'", name);
    return fail(error, HY_NO_OP, text);
}

/* Sets the tensors that lie in the caller's memory. */
static void bind(@name@_step *step, const void *const *arguments) {
    for (int32_t v = 0; v < VIEWS; v++) {
        const int64_t at = buffers[views[v].buffer];
        if (at < 0) step->tensors[v].data = (char *)arguments[-1 - at] + views[v].offset;
    }
}

static char *element_of(const hy_tensor *t, int64_t number) {
    int64_t at = 0;
    for (int32_t d = t->ndim; d-- > 0;) {
        at += number % t->shape[d] * t->strides[d];
        number /= t->shape[d];
    }
    return (char *)t->data + at * (t->dtype.bits / 8);
}

/* Sets the elements of `to` to those of `from`, or without it to `element`. */
static void set_elements(const hy_tensor *to, const hy_tensor *from, const int64_t *element) {
    int64_t count = 1;
    for (int32_t d = 0; d < to->ndim; d++)
        count *= to->shape[d];
    for (int64_t k = 0; k < count; k++) {
        const void *value = from ? element_of(from, k) : (const void *)element;
        memcpy(element_of(to, k), value, to->dtype.bits / 8);
    }
}

static int32_t make_call(const @name@_step *step, int32_t c, const hy_tensor *t, hy_error *error) {
    const hy_tensor *out = t + calls[c].inputs;
    if (calls[c].op)
        return hy_call(step->ops[c], t, calls[c].inputs, out, calls[c].outputs, error);
    set_elements(out, calls[c].inputs ? t : NULL, &calls[c].element);
    return HY_OK;
}

static int32_t run(@name@_step *step, const void *const *arguments, const double *numbers,
                   hy_error *error) {
    if (!step || (NUMBERS > 0 && !numbers)) return fail(error, HY_NULL, "[@name@] an argument is null");
    for (int32_t k = 0; k < ARGUMENTS; k++)
        if (!arguments[k]) return fail(error, HY_NULL, "[@name@] an argument is null");
    int32_t code = check_labels(arguments, error);
    if (!code) code = set_numbers(step, numbers, error);
    bind(step, arguments);
    const hy_tensor *t = step->tensors;
    for (int32_t c = 0; c < CALLS && !code; c++) {
        code = make_call(step, c, t, error);
        t += calls[c].inputs + calls[c].outputs;
    }
    return code;
}

@run@
