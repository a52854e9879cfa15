/* Runs the samples of the exported ops: dense tensors, tensors with gaps, and a host's loop. Each
 * result must be within the op's error bound of a reference in double, which stands in cases.bin.
 *
 * usage: test cases.bin */
#include HY_HEADER

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 24, GAP = 3 };

/* The file's bytes that are not read yet. */
static const unsigned char *next, *end;

static void die(const char *why) {
    fprintf(stderr, "test: %s\n", why);
    exit(2);
}

static const void *take(uint64_t bytes) {
    const unsigned char *at = next;
    if (bytes > (uint64_t)(end - next)) die("cases.bin is cut off");
    next += bytes;
    return at;
}

static uint32_t take_count(void) {
    uint32_t n;
    memcpy(&n, take(sizeof n), sizeof n);
    return n;
}

static void take_text(char *to, size_t room) {
    const uint32_t n = take_count();
    if (n >= room) die("a text in cases.bin is too long");
    memcpy(to, take(n), n);
    to[n] = 0;
}

static void *allocate(uint64_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) die("out of memory");
    return memory;
}

/* A tensor of a case: dtype and shape, an input's dense elements, an output's expected values. */
typedef struct operand {
    hy_dtype dtype;
    int32_t ndim;
    int64_t shape[HY_MAX_RANK], strides[HY_MAX_RANK];
    int64_t elements;
    const unsigned char *values;
    double *want, *allowed;
    unsigned char *memory;
} operand;

static size_t bytes_of(const operand *t) {
    return t->dtype.bits / 8;
}

static void take_operand(operand *t, int is_output) {
    memset(t, 0, sizeof *t);
    t->dtype.code = (uint8_t)take_count();
    t->dtype.bits = (uint8_t)take_count();
    t->dtype.lanes = 1;
    t->ndim = (int32_t)take_count();
    if (t->ndim < 0 || t->ndim > HY_MAX_RANK) die("a rank in cases.bin is too large");
    t->elements = 1;
    for (int32_t d = 0; d < t->ndim; d++) {
        memcpy(&t->shape[d], take(8), 8);
        t->elements *= t->shape[d];
    }
    if (!is_output) {
        t->values = take((uint64_t)t->elements * bytes_of(t));
        return;
    }
    const uint64_t bytes = (uint64_t)t->elements * sizeof(double);
    t->want = allocate(bytes);
    t->allowed = allocate(bytes);
    memcpy(t->want, take(bytes), bytes);
    memcpy(t->allowed, take(bytes), bytes);
}

/* Sets strides with `gap` unused elements behind each row, and returns the elements they span. */
static int64_t lay_out(operand *t, int64_t gap) {
    int64_t step = 1;
    for (int32_t d = t->ndim; d-- > 0;) {
        t->strides[d] = step;
        step *= t->shape[d] + (d == t->ndim - 1 ? gap : 0);
    }
    return step;
}

/* Returns the place of the element with this number in row-major order. */
static unsigned char *element(const operand *t, int64_t number, int64_t offset) {
    for (int32_t d = t->ndim; d-- > 0;) {
        offset += number % t->shape[d] * t->strides[d];
        number /= t->shape[d];
    }
    return t->memory + (size_t)offset * bytes_of(t);
}

static double from_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double v = exponent == 31  ? fraction ? NAN : INFINITY
               : exponent == 0 ? ldexp(fraction, -24)
                               : ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -v : v;
}

static double value(const operand *t, const unsigned char *at) {
    if (t->dtype.code == HY_BFLOAT || (t->dtype.code == HY_FLOAT && t->dtype.bits == 16)) {
        uint16_t half;
        memcpy(&half, at, 2);
        if (t->dtype.code == HY_FLOAT) return from_half(half);
        const uint32_t bits = (uint32_t)half << 16;
        float f;
        memcpy(&f, &bits, 4);
        return f;
    }
    if (t->dtype.code == HY_FLOAT && t->dtype.bits == 32) {
        float f;
        memcpy(&f, at, 4);
        return f;
    }
    if (t->dtype.code == HY_FLOAT) {
        double f;
        memcpy(&f, at, 8);
        return f;
    }
    if (t->dtype.bits == 8) return t->dtype.code == HY_INT ? (double)*(const signed char *)at : *at;
    if (t->dtype.bits == 32) {
        int32_t i;
        memcpy(&i, at, 4);
        return i;
    }
    int64_t i;
    memcpy(&i, at, 8);
    return (double)i;
}

static int is_close(double got, double want, double allowed) {
    if (isinf(allowed)) return 1;
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    return got == want || fabs(got - want) <= allowed;
}

static hy_tensor tensor_of(operand *t, int64_t offset) {
    hy_tensor made;
    memset(&made, 0, sizeof made);
    made.data = t->memory;
    made.device.device_type = HY_CPU;
    made.ndim = t->ndim;
    made.dtype = t->dtype;
    made.shape = t->shape;
    made.strides = t->strides;
    made.byte_offset = (uint64_t)offset * bytes_of(t);
    return made;
}

typedef struct sample {
    char op[128], attributes[512], label[512];
    uint32_t inputs, outputs;
    operand in[MAX_TENSORS], out[MAX_TENSORS];
} sample;

static void fill_memory(operand *t, int64_t gap) {
    const size_t bytes = (size_t)(lay_out(t, gap) + gap) * bytes_of(t);
    t->memory = allocate(bytes);
    memset(t->memory, 0x5A, bytes);
    for (int64_t i = 0; t->values && i < t->elements; i++)
        memcpy(element(t, i, gap), t->values + (size_t)i * bytes_of(t), bytes_of(t));
}

static int is_right(const sample *s, int64_t gap, const char *how) {
    for (uint32_t k = 0; k < s->outputs; k++) {
        const operand *t = &s->out[k];
        for (int64_t i = 0; i < t->elements; i++) {
            const double got = value(t, element(t, i, gap));
            if (is_close(got, t->want[i], t->allowed[i])) continue;
            printf("%s %s, %s: element %" PRId64 " of output %u is %.17g, expected %.17g\n", s->op,
                   s->label, how, i, (unsigned)k, got, t->want[i]);
            return 0;
        }
    }
    return 1;
}

/* Returns 1 if hy_infer() returns the outputs' shapes and dtypes. */
static int infers(const hy_op *op, const sample *s, const hy_tensor *in) {
    hy_shape shapes[MAX_TENSORS];
    hy_error error;
    if (hy_infer(op, in, (int32_t)s->inputs, shapes, (int32_t)s->outputs, &error)) {
        printf("%s %s: %s\n", s->op, s->label, error.text);
        return 0;
    }
    for (uint32_t k = 0; k < s->outputs; k++) {
        const operand *t = &s->out[k];
        if (shapes[k].ndim != t->ndim || shapes[k].dtype.code != t->dtype.code ||
            shapes[k].dtype.bits != t->dtype.bits ||
            memcmp(shapes[k].extents, t->shape, (size_t)t->ndim * sizeof *t->shape) != 0) {
            printf("%s %s: hy_infer() returns another shape or dtype\n", s->op, s->label);
            return 0;
        }
    }
    return 1;
}

/* Runs a sample whose tensors begin at, and have behind each row, `gap` elements. */
static int run(const hy_op *op, sample *s, int64_t gap, const char *how) {
    hy_tensor in[MAX_TENSORS], out[MAX_TENSORS];
    for (uint32_t k = 0; k < s->inputs; k++) {
        fill_memory(&s->in[k], gap);
        in[k] = tensor_of(&s->in[k], gap);
    }
    for (uint32_t k = 0; k < s->outputs; k++) {
        fill_memory(&s->out[k], gap);
        out[k] = tensor_of(&s->out[k], gap);
    }
    hy_error error;
    int right = infers(op, s, in);
    if (right && hy_call(op, in, (int32_t)s->inputs, out, (int32_t)s->outputs, &error)) {
        printf("%s %s, %s: %s\n", s->op, s->label, how, error.text);
        right = 0;
    }
    if (right) right = is_right(s, gap, how);
    for (uint32_t k = 0; k < s->inputs; k++)
        free(s->in[k].memory);
    for (uint32_t k = 0; k < s->outputs; k++)
        free(s->out[k].memory);
    return right;
}

/* A host's loop, which runs the tasks backwards. */
static void backwards(void *host, int32_t count, hy_task task, void *context) {
    (void)host;
    while (count-- > 0)
        task(context, count);
}

static void take_sample(sample *s) {
    take_text(s->op, sizeof s->op);
    take_text(s->attributes, sizeof s->attributes);
    take_text(s->label, sizeof s->label);
    s->inputs = take_count();
    s->outputs = take_count();
    if (s->inputs > MAX_TENSORS || s->outputs > MAX_TENSORS) die("too many tensors in cases.bin");
    for (uint32_t k = 0; k < s->inputs; k++)
        take_operand(&s->in[k], 0);
    for (uint32_t k = 0; k < s->outputs; k++)
        take_operand(&s->out[k], 1);
}

static int passes(sample *s) {
    hy_error error;
    hy_op *op = hy_find(s->op, s->attributes, &error);
    if (!op) {
        printf("%s %s: %s\n", s->op, s->label, error.text);
        return 0;
    }
    hy_set_parallel_for(NULL, NULL, 1);
    int right = run(op, s, 0, "dense") && run(op, s, GAP, "with gaps");
    hy_set_parallel_for(backwards, NULL, 4);
    /* A loop spreads from its second call on. */
    right = right && run(op, s, 0, "on a host's loop") && run(op, s, 0, "on a host's loop");
    hy_release(op);
    for (uint32_t k = 0; k < s->outputs; k++) {
        free(s->out[k].want);
        free(s->out[k].allowed);
    }
    return right;
}

int main(int count, char **arguments) {
    if (count != 2) die("usage: test cases.bin");
    FILE *file = fopen(arguments[1], "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) die("can't read cases.bin");
    const long bytes = ftell(file);
    if (bytes < 0 || fseek(file, 0, SEEK_SET) != 0) die("can't read cases.bin");
    unsigned char *all = allocate((uint64_t)bytes);
    if (fread(all, 1, (size_t)bytes, file) != (size_t)bytes) die("can't read cases.bin");
    fclose(file);
    next = all;
    end = all + bytes;
    if (hy_version()->interface_version != HY_INTERFACE) die("the library has another interface");
    const uint32_t samples = take_count();
    uint32_t failed = 0;
    static sample s;
    for (uint32_t k = 0; k < samples; k++) {
        take_sample(&s);
        failed += !passes(&s);
    }
    free(all);
    printf("%s: %u samples, %u failed\n", failed ? "FAILED" : "ok", (unsigned)samples,
           (unsigned)failed);
    return failed != 0;
}
