/* Runs the calls of step_tables.h in their order, on one block of memory. */
#include "@name@.h"

#include "hy_step.h"

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

typedef enum call_kind { CALL_OP, CALL_COPY, CALL_FILL, CALL_HOST } call_kind;

/* A call of an op, a copy that converts, a fill, or a step of the run time. Its views follow those
 * of the call before, inputs first. */
typedef struct call {
    call_kind kind;
    const char *op, *attributes;
    int32_t inputs, outputs;
    int32_t draw;   /* of random numbers in a run; -1: the op draws none */
    double value;   /* of a fill */
    int32_t number; /* of the step, that a fill takes for `value`; -1: none */
    int32_t host;   /* the place in host_steps; -1: another kind of call */
} call;

/* A real attribute that is a number of the step. */
typedef struct place {
    int32_t call;
    const char *attribute;
    int32_t number;
} place;

/* A check of indices or labels. Those of what the caller passes are `early`: they run before all
 * calls, so that a bad index leaves all tensors as they are. */
typedef struct host_step {
    int32_t early;
    const char *name, *words[2];
    int32_t word_count;
    int64_t numbers[HY_MAX_RANK + 1];
    int32_t number_count;
} host_step;

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
    hy_host_step *host_steps[HOST_STEPS + 1];
    hy_tensor tensors[VIEWS];
    double numbers[NUMBERS + 1]; /* that ops were found for */
    int has_numbers;
    uint64_t seed, offset; /* of the next draw */
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

/* Writes the state of a draw as attributes of its op. */
static void put_draw(char *text, size_t size, uint64_t seed, uint64_t offset) {
    snprintf(text, size, " seed_lo=%ld seed_hi=%ld offset_lo=%ld offset_hi=%ld",
             (long)(int32_t)seed, (long)(int32_t)(seed >> 32), (long)(int32_t)offset,
             (long)(int32_t)(offset >> 32));
}

/* Finds the op of a call with these numbers, and for the next draws. */
static int32_t find(@name@_step *step, int32_t c, const double *numbers, hy_error *error) {
    char text[ATTRIBUTE_BYTES];
    hy_error own;
    if (calls[c].kind != CALL_OP) return HY_OK;
    size_t n = (size_t)snprintf(text, sizeof text, "%s", calls[c].attributes);
    for (int32_t p = 0; p < PLACES; p++) {
        if (places[p].call != c) continue;
        const size_t begin = n;
        n += (size_t)snprintf(text + n, sizeof text - n, " %s=%.17g", places[p].attribute,
                              numbers[places[p].number]);
        for (size_t k = begin; k < n; k++) /* the comma of some locales */
            if (text[k] == ',') text[k] = '.';
    }
    if (calls[c].draw >= 0)
        put_draw(text + n, sizeof text - n, step->seed, step->offset + (uint64_t)calls[c].draw);
    hy_op *op = hy_find(calls[c].op, text, &own);
    if (!op) return fail(error, own.code, own.text);
    hy_release(step->ops[c]);
    step->ops[c] = op;
    return HY_OK;
}

/* Finds the ops that other numbers than those of the last run change, and those that draw. */
static int32_t set_numbers(@name@_step *step, const double *numbers, hy_error *error) {
    const size_t bytes = sizeof(double) * NUMBERS;
    const int same = step->has_numbers && (!bytes || memcmp(step->numbers, numbers, bytes) == 0);
    step->has_numbers = 0;
    for (int32_t c = 0; c < CALLS; c++) {
        const int changes = calls[c].draw >= 0 || (!same && takes_numbers(c));
        const int32_t code = changes ? find(step, c, numbers, error) : HY_OK;
        if (code) return code;
    }
    if (bytes) memcpy(step->numbers, numbers, bytes);
    step->has_numbers = 1;
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

/* Finds the ops that are the same in each run, and makes the steps of the run time. */
static int32_t make_steps(@name@_step *step, hy_error *error) {
    int32_t code = HY_OK;
    for (int32_t c = 0; c < CALLS && !code; c++)
        if (!takes_numbers(c) && calls[c].draw < 0) code = find(step, c, NULL, error);
    for (int32_t k = 0; k < HOST_STEPS && !code; k++) {
        const host_step *h = &host_steps[k];
        hy_error own;
        step->host_steps[k] = hy_make_host_step(h->name, h->words, h->word_count, h->numbers,
                                                h->number_count, &own);
        if (!step->host_steps[k]) code = fail(error, own.code, own.text);
    }
    return code;
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
    if (make_steps(step, error)) {
        @name@_close(step);
        return NULL;
    }
    return step;
}

void @name@_close(@name@_step *step) {
    if (!step) return;
    for (int32_t c = 0; c < CALLS; c++)
        hy_release(step->ops[c]);
    for (int32_t k = 0; k < HOST_STEPS; k++)
        hy_release_host_step(step->host_steps[k]);
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

/* Makes a call with its tensors, if it is one of those of this pass. */
static int32_t make_call(const @name@_step *step, int32_t c, int early, const double *numbers,
                         const hy_tensor *t, hy_error *error) {
    const call *const made = &calls[c];
    const hy_tensor *const out = t + made->inputs;
    if (early != (made->host >= 0 && host_steps[made->host].early)) return HY_OK;
    switch (made->kind) {
    case CALL_OP: return hy_call(step->ops[c], t, made->inputs, out, made->outputs, error);
    case CALL_COPY: return hy_copy_elements(t, out, error);
    case CALL_FILL:
        return hy_fill_elements(out, made->number < 0 ? made->value : numbers[made->number], error);
    case CALL_HOST: break;
    }
    return hy_run_host_step(step->host_steps[made->host], t, made->inputs, out, made->outputs,
                            error);
}

static int32_t make_calls(const @name@_step *step, int early, const double *numbers,
                          hy_error *error) {
    const hy_tensor *t = step->tensors;
    int32_t code = HY_OK;
    for (int32_t c = 0; c < CALLS && !code; c++) {
        code = make_call(step, c, early, numbers, t, error);
        t += calls[c].inputs + calls[c].outputs;
    }
    return code;
}

static int32_t run(@name@_step *step, const void *const *arguments, const double *numbers,
                   hy_error *error) {
    if (!step || (NUMBERS > 0 && !numbers)) return fail(error, HY_NULL, "[@name@] an argument is null");
    for (int32_t k = 0; k < ARGUMENTS; k++)
        if (!arguments[k]) return fail(error, HY_NULL, "[@name@] an argument is null");
    bind(step, arguments);
    int32_t code = make_calls(step, 1, numbers, error);
    if (!code) code = set_numbers(step, numbers, error);
    if (code) return code;
    step->offset += DRAWS;
    return make_calls(step, 0, numbers, error);
}
@random@
@run@
