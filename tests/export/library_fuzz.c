/* Makes random calls of an exported library: its samples' calls, with other extents, strides and
 * attributes, and with things that no call may have. A call must do what it should or report a code
 * and a text; it may not touch memory that it wasn't given, nor change an input. Each tensor ends or
 * begins at a page that can't be accessed.
 *
 * usage: library_fuzz cases.bin CALLS SEED */
#define _GNU_SOURCE
#include HY_HEADER

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_TENSORS = 24, PLACES = 2 * MAX_TENSORS, RANK_ROOM = 64, PAGE = 4096 };
enum { PLACE_BYTES = 1 << 20, MARGIN = 64, PATTERN = 0x5A };

static void die(const char *why) {
    fprintf(stderr, "library_fuzz: %s\n", why);
    exit(2);
}

/* ---- Random numbers (xorshift64*) ---- */

static uint64_t state;

static uint64_t random_bits(void) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * UINT64_C(2685821657736338717);
}

/* Returns a number in [0, n). */
static int64_t below(int64_t n) {
    return (int64_t)(random_bits() >> 33) % n;
}

static int one_in(int64_t n) {
    return below(n) == 0;
}

/* ---- The samples in cases.bin, whose format test.c describes ---- */

typedef struct operand {
    hy_dtype dtype;
    int32_t ndim;
    int64_t shape[HY_MAX_RANK];
    const unsigned char *values;
    int64_t bytes;
} operand;

typedef struct sample {
    char op[128], attributes[512];
    uint32_t inputs, outputs;
    operand in[MAX_TENSORS];
    int64_t in_bytes;
} sample;

static const unsigned char *next, *end;

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

static void take_operand(operand *t, int is_output) {
    t->dtype.code = (uint8_t)take_count();
    t->dtype.bits = (uint8_t)take_count();
    t->dtype.lanes = 1;
    t->ndim = (int32_t)take_count();
    if (t->ndim < 0 || t->ndim > HY_MAX_RANK) die("a rank in cases.bin is too large");
    int64_t elements = 1;
    for (int32_t d = 0; d < t->ndim; d++) {
        memcpy(&t->shape[d], take(8), 8);
        elements *= t->shape[d];
    }
    t->bytes = elements * (is_output ? 2 * (int64_t)sizeof(double) : t->dtype.bits / 8);
    t->values = take((uint64_t)t->bytes);
}

static void take_sample(sample *s) {
    char label[512];
    operand out;
    take_text(s->op, sizeof s->op);
    take_text(s->attributes, sizeof s->attributes);
    take_text(label, sizeof label);
    s->inputs = take_count();
    s->outputs = take_count();
    if (s->inputs > MAX_TENSORS || s->outputs > MAX_TENSORS) die("too many tensors in cases.bin");
    s->in_bytes = 0;
    for (uint32_t k = 0; k < s->inputs; k++) {
        take_operand(&s->in[k], 0);
        s->in_bytes += s->in[k].bytes;
    }
    for (uint32_t k = 0; k < s->outputs; k++)
        take_operand(&out, 1);
}

static const unsigned char *read_file(const char *path, long *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) die("can't read cases.bin");
    *bytes = ftell(file);
    if (*bytes < 0 || fseek(file, 0, SEEK_SET) != 0) die("can't read cases.bin");
    unsigned char *all = malloc((size_t)*bytes + 1);
    if (!all || fread(all, 1, (size_t)*bytes, file) != (size_t)*bytes) die("can't read cases.bin");
    fclose(file);
    return all;
}

/* Keeps the samples with little data, so that a call takes microseconds. */
static uint32_t read_samples(sample **kept) {
    enum { SMALL = 1 << 14 };
    const uint32_t samples = take_count();
    uint32_t count = 0;
    *kept = malloc(samples * sizeof **kept);
    if (!*kept) die("out of memory");
    for (uint32_t k = 0; k < samples; k++) {
        take_sample(&(*kept)[count]);
        if ((*kept)[count].in_bytes <= SMALL) count++;
    }
    if (count == 0) die("no sample is small");
    return count;
}

/* ---- Memory between pages that can't be accessed ---- */

static unsigned char *places[PLACES];

static void make_places(void) {
    for (int k = 0; k < PLACES; k++) {
        unsigned char *all = mmap(NULL, PLACE_BYTES + 2 * PAGE, PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED) die("out of memory");
        places[k] = all + PAGE;
        if (mprotect(places[k], PLACE_BYTES, PROT_READ | PROT_WRITE) != 0) die("mprotect failed");
    }
}

/* ---- A call ---- */

/* A tensor with what it needs: its arrays, its place, and the bytes from its first element's
 * begin to its last one's end. */
typedef struct argument {
    hy_tensor tensor;
    int64_t shape[RANK_ROOM], strides[RANK_ROOM];
    int64_t span;
    unsigned char *begin;
} argument;

typedef struct call {
    hy_op *op;
    argument in[MAX_TENSORS], out[MAX_TENSORS];
    int32_t inputs, outputs;
    int must_fail;  /* something is wrong that no op takes */
    int may_fail;   /* something was changed that an op may refuse */
    int in_place;
} call;

static const sample *current;
static uint64_t number;

static void report(const char *what) {
    printf("FAILED: call %" PRIu64 ", %s '%s': %s\n", number, current->op, current->attributes,
           what);
    exit(1);
}

static void crashed(int signal) {
    static const char text[] = "FAILED: the library crashed\n";
    (void)!write(1, text, sizeof text - 1);
    char line[256];
    const int n = snprintf(line, sizeof line, "call %" PRIu64 ", %s, signal %d\n", number,
                           current->op, signal);
    (void)!write(1, line, (size_t)n);
    _exit(1);
}

static void expect_text(const hy_error *e, int32_t code) {
    if (e->code != code) report("the code in hy_error is another one than the one returned");
    if (code == HY_OK) return;
    if (code < HY_NULL || code > HY_OTHER) report("an unknown code");
    if (!memchr(e->text, 0, sizeof e->text) || e->text[0] == 0) report("an error without a text");
}

/* Sets dense strides, with `gap` unused elements behind each row. */
static void lay_out(argument *a, int64_t gap) {
    int64_t step = 1;
    for (int32_t d = a->tensor.ndim; d-- > 0;) {
        a->strides[d] = step;
        step *= a->shape[d] + (d == a->tensor.ndim - 1 ? gap : 0);
    }
}

/* Returns the bytes that the tensor spans; -1 if they are more than a place has. */
static int64_t span_of(const argument *a) {
    const int64_t bytes = (a->tensor.dtype.bits + 7) / 8;
    int64_t last = 0;
    for (int32_t d = 0; d < a->tensor.ndim; d++) {
        if (a->shape[d] == 0) return 0;
        if (a->shape[d] < 0 || a->shape[d] > PLACE_BYTES) return -1;
        const int64_t stride = a->strides[d] < 0 ? 0 : a->strides[d];
        if (stride > PLACE_BYTES) return -1;
        last += (a->shape[d] - 1) * stride;
        if (last > PLACE_BYTES) return -1;
    }
    const int64_t span = (last + 1) * bytes;
    return span <= PLACE_BYTES / 2 ? span : -1;
}

/* Puts the tensor at the end or the begin of its place. Returns 0 if it is too large. */
static int put(argument *a, unsigned char *place) {
    a->span = span_of(a);
    if (a->span < 0) return 0;
    const size_t offset = one_in(2) ? (size_t)(PLACE_BYTES - a->span) : 0;
    a->begin = place + offset;
    a->tensor.data = a->begin;
    return 1;
}

static void set_up(argument *a, hy_dtype dtype, int32_t ndim, const int64_t *shape) {
    memset(a, 0, sizeof *a);
    a->tensor.device.device_type = HY_CPU;
    a->tensor.ndim = ndim;
    a->tensor.dtype = dtype;
    a->tensor.shape = a->shape;
    a->tensor.strides = a->strides;
    memcpy(a->shape, shape, (size_t)ndim * sizeof *shape);
    lay_out(a, one_in(3) ? below(9) : 0);
}

static void swap(int64_t *a, int64_t *b) {
    const int64_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Changes what an op may take as well: extents and strides. */
static void vary(call *c, argument *a) {
    const int32_t rank = a->tensor.ndim;
    if (rank == 0) return;
    const int32_t d = (int32_t)below(rank);
    c->may_fail = 1;
    switch (below(5)) {
        case 0: a->shape[d] = below(10); break;
        case 1: a->shape[d] += below(3) - 1; break;
        case 2: {
            const int32_t e = (int32_t)below(rank);
            swap(&a->shape[d], &a->shape[e]);
            break;
        }
        case 3: {
            const int32_t e = (int32_t)below(rank);
            swap(&a->strides[d], &a->strides[e]);
            return;
        }
        default: a->strides[d] = below(4); return;
    }
    lay_out(a, one_in(4) ? below(5) : 0);
}

/* Gives the same extent another value in all inputs, as a batch of another size has. */
static void vary_all(call *c) {
    const argument *first = &c->in[below(c->inputs)];
    if (first->tensor.ndim == 0) return;
    const int64_t from = first->shape[below(first->tensor.ndim)], to = below(12);
    c->may_fail = 1;
    for (int32_t k = 0; k < c->inputs; k++) {
        argument *a = &c->in[k];
        for (int32_t d = 0; d < a->tensor.ndim; d++)
            if (a->shape[d] == from) a->shape[d] = to;
        lay_out(a, 0);
    }
}

static int is_empty(const argument *a) {
    for (int32_t d = 0; d < a->tensor.ndim; d++)
        if (a->shape[d] == 0) return 1;
    return 0;
}

/* Makes one extent or stride negative. Returns 0 if there is none that is used. */
static int negate(const argument *a, int64_t *numbers, int64_t least) {
    for (int32_t d = 0; d < a->tensor.ndim; d++) {
        if (a->shape[d] < least) continue;
        numbers[d] = one_in(2) ? -1 - below(100) : INT64_MIN;
        return 1;
    }
    return 0;
}

/* Puts something into a placed tensor that no op takes. Returns 0 if it can't have that. */
static int spoil(argument *a) {
    static const hy_dtype odd[] = {{HY_FLOAT, 24, 1}, {99, 32, 1}, {HY_FLOAT, 32, 4},
                                   {HY_INT, 0, 1},    {5, 64, 1},  {HY_UINT, 255, 1}};
    hy_tensor *t = &a->tensor;
    switch (below(7)) {
        case 0: t->dtype = odd[below(sizeof odd / sizeof *odd)]; return 1;
        case 1: t->device.device_type = 2 + (int32_t)below(20); return 1;
        case 2: t->ndim = one_in(2) ? -1 - (int32_t)below(1000) : 9 + (int32_t)below(50); return 1;
        case 3:
            if (t->ndim == 0) return 0;
            t->shape = NULL;
            return 1;
        case 4: return !is_empty(a) && negate(a, a->shape, 1);
        case 5: return !is_empty(a) && negate(a, a->strides, 2);
        default:
            if (is_empty(a)) return 0;
            t->data = NULL;
            return 1;
    }
}

static hy_op *find(const sample *s, call *c) {
    static const char *const wrong[] = {" nothing=1", " axis=99999999999999999999", " axis=", "=",
                                        " axis=1,2,3,4,5,6,7,8,9,10", " =1", " \xff\xfe", " x==y"};
    char attributes[640], *at;
    hy_error error;
    memcpy(attributes, s->attributes, sizeof s->attributes);
    const size_t length = strlen(attributes);
    if (one_in(12)) {
        strcpy(attributes + length, wrong[below(sizeof wrong / sizeof *wrong)]);
        c->may_fail = 1;
    } else if (length > 0 && one_in(8)) {
        at = attributes + below((int64_t)length);
        if (*at >= '0' && *at <= '9') *at = (char)('0' + below(10));
        c->may_fail = 1;
    }
    hy_op *op = hy_find(s->op, attributes, &error);
    expect_text(&error, op ? HY_OK : error.code);
    if (!op && !c->may_fail) report(error.text);
    return op;
}

/* Asks for what an op says of itself, and for gradients. */
static void ask(const call *c) {
    hy_error error;
    int32_t output = 0;
    const int32_t tensors = hy_inputs(c->op) + hy_outputs(c->op);
    const char *name = hy_tensor_name(c->op, (int32_t)below(tensors + 2) - 1);
    if (!hy_name(c->op) || !hy_signature(c->op)) report("an op without a name");
    hy_op *gradient = hy_gradient(c->op, name ? name : "nothing", &output, &error);
    if (gradient && (output < 0 || output >= hy_outputs(gradient)))
        report("a gradient in an output that isn't there");
    if (!gradient) expect_text(&error, error.code ? error.code : -1);
    hy_release(gradient);
}

static int make_inputs(const sample *s, call *c) {
    c->inputs = (int32_t)s->inputs;
    for (int32_t k = 0; k < c->inputs; k++)
        set_up(&c->in[k], s->in[k].dtype, s->in[k].ndim, s->in[k].shape);
    if (c->inputs > 0 && one_in(4)) vary_all(c);
    if (c->inputs > 0 && one_in(4)) vary(c, &c->in[below(c->inputs)]);
    for (int32_t k = 0; k < c->inputs; k++) {
        argument *a = &c->in[k];
        if (!put(a, places[k])) return 0;
        for (int64_t i = 0; i < a->span; i++)
            a->begin[i] = s->in[k].bytes ? s->in[k].values[i % s->in[k].bytes] : 0;
    }
    if (c->inputs > 0 && one_in(12)) c->must_fail = spoil(&c->in[below(c->inputs)]);
    if (one_in(60)) {
        c->inputs += one_in(2) ? 1 : -1;
        c->must_fail = 1;
    }
    return 1;
}

/* Writes a pattern around the memory of an output, as far as its place goes. */
static void surround(const argument *a, const unsigned char *place, int check) {
    const unsigned char *last = place + PLACE_BYTES;
    unsigned char *from = a->begin - place > MARGIN ? a->begin - MARGIN : a->begin;
    if (a->begin - place <= MARGIN) from = (unsigned char *)place;
    for (unsigned char *at = from; at < last && at < a->begin + a->span + MARGIN; at++) {
        const int inside = at >= a->begin && at < a->begin + a->span;
        if (check && !inside && *at != PATTERN) report("a call wrote beside an output");
        if (!check) *at = PATTERN;
    }
}

static int make_outputs(call *c, const hy_shape *shapes) {
    for (int32_t k = 0; k < c->outputs; k++) {
        argument *a = &c->out[k];
        unsigned char *place = places[MAX_TENSORS + k];
        set_up(a, shapes[k].dtype, shapes[k].ndim, shapes[k].extents);
        if (!put(a, place)) return 0;
        surround(a, place, 0);
    }
    argument *a = &c->out[below(c->outputs)];
    if (one_in(20) && spoil(a)) c->must_fail = 1;
    if (one_in(20) && a->tensor.ndim > 0 && a->tensor.shape) {
        const int32_t d = a->tensor.ndim > HY_MAX_RANK || a->tensor.ndim < 0 ? 0 : a->tensor.ndim - 1;
        /* An extent less leaves the memory large enough. */
        if (a->shape[d] > 0) {
            a->shape[d]--;
            c->must_fail = 1;
        }
    }
    if (one_in(20) && c->inputs > 0) {
        const argument *in = &c->in[below(c->inputs)];
        if (a->span > 0 && in->span >= a->span && a->tensor.data) {
            a->tensor.data = in->begin;
            c->may_fail = 1;
            c->in_place = 1;
        }
    }
    return 1;
}

static uint64_t hash_of(const argument *a) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int64_t i = 0; i < a->span; i++)
        hash = (hash ^ a->begin[i]) * UINT64_C(1099511628211);
    return hash;
}

static void to_tensors(const argument *arguments, int32_t count, hy_tensor *tensors) {
    for (int32_t k = 0; k < count && k < MAX_TENSORS; k++)
        tensors[k] = arguments[k].tensor;
}

/* Runs the call and returns its code. */
static int32_t run(call *c, const hy_tensor *in) {
    hy_tensor out[MAX_TENSORS];
    uint64_t hashes[MAX_TENSORS];
    hy_error error;
    const int32_t known = c->inputs < MAX_TENSORS ? c->inputs : MAX_TENSORS;
    to_tensors(c->out, c->outputs, out);
    for (int32_t k = 0; k < known; k++)
        hashes[k] = hash_of(&c->in[k]);
    const int32_t code = hy_call(c->op, in, c->inputs, out, c->outputs, one_in(9) ? NULL : &error);
    if (code != HY_OK && (code < HY_NULL || code > HY_OTHER)) report("an unknown code");
    if (code == HY_OK && c->must_fail) report("a call with a wrong tensor succeeds");
    if (code != HY_OK && !c->must_fail && !c->may_fail) {
        hy_call(c->op, in, c->inputs, out, c->outputs, &error);
        report(error.text);
    }
    for (int32_t k = 0; k < known && !c->in_place; k++)
        if (hashes[k] != hash_of(&c->in[k])) report("a call changed an input");
    for (int32_t k = 0; k < c->outputs; k++)
        surround(&c->out[k], places[MAX_TENSORS + k], 1);
    return code;
}

/* A host's loop, which runs the tasks backwards. */
static void backwards(void *host, int32_t count, hy_task task, void *context) {
    (void)host;
    while (count-- > 0)
        task(context, count);
}

/* Makes one random call. Returns 1 if it ran. */
static int make_call(const sample *s) {
    static call c;
    hy_shape shapes[MAX_TENSORS];
    hy_tensor in[MAX_TENSORS];
    hy_error error;
    memset(&c, 0, sizeof c);
    c.op = find(s, &c);
    if (!c.op) return 0;
    if (one_in(10)) ask(&c);
    c.outputs = hy_outputs(c.op);
    int ran = 0;
    if (make_inputs(s, &c)) {
        to_tensors(c.in, c.inputs, in);
        const int32_t code = hy_infer(c.op, in, c.inputs, shapes, c.outputs, &error);
        expect_text(&error, code);
        if (code != HY_OK && !c.must_fail && !c.may_fail) report(error.text);
        if (code == HY_OK && make_outputs(&c, shapes)) ran = run(&c, in) == HY_OK;
    }
    hy_release(c.op);
    return ran;
}

int main(int count, char **arguments) {
    if (count != 4) die("usage: library_fuzz cases.bin CALLS SEED");
    long bytes;
    next = read_file(arguments[1], &bytes);
    end = next + bytes;
    const uint64_t calls = strtoull(arguments[2], NULL, 10);
    state = strtoull(arguments[3], NULL, 10) * 2 + 1;
    for (int k = 0; k < 20; k++)
        random_bits();
    sample *samples;
    const uint32_t kept = read_samples(&samples);
    make_places();
    signal(SIGSEGV, crashed);
    signal(SIGBUS, crashed);
    signal(SIGFPE, crashed);
    signal(SIGABRT, crashed);
    uint64_t ran = 0;
    for (number = 0; number < calls; number++) {
        current = &samples[below(kept)];
        const int spreads = one_in(4);
        hy_set_parallel_for(spreads ? backwards : NULL, NULL, spreads ? 4 : 1);
        ran += (uint64_t)make_call(current);
        if ((number + 1) % 100000 == 0) fprintf(stderr, "%" PRIu64 " calls\n", number + 1);
    }
    printf("ok: %" PRIu64 " calls of %" PRIu32 " samples, %" PRIu64 " ran\n", calls, kept, ran);
    free(samples);
    return 0;
}
