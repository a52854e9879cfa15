/* A host program: opens two exported libraries in one process, calls ops of both, and passes what no
 * call may be given. Every wrong call must report a code and a text.
 *
 * usage: host LIBRARY_WITH_RELU_AND_SOFTMAX LIBRARY_WITH_MATMUL_AND_LAYER_NORM */
#include "hy.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed = 0;

static void expect(int holds, const char *what) {
    if (holds) return;
    printf("FAILED: %s\n", what);
    failed = 1;
}

/* The functions of one library. */
typedef struct library {
    void *handle;
    const hy_info *(*version)(void);
    const char *const *(*names)(void);
    hy_op *(*find)(const char *, const char *, hy_error *);
    hy_op *(*gradient)(const hy_op *, const char *, int32_t *, hy_error *);
    void (*release)(hy_op *);
    const char *(*tensor_name)(const hy_op *, int32_t);
    int32_t (*infer)(const hy_op *, const hy_tensor *, int32_t, hy_shape *, int32_t, hy_error *);
    int32_t (*call)(const hy_op *, const hy_tensor *, int32_t, const hy_tensor *, int32_t,
                    hy_error *);
    void (*set_parallel_for)(hy_parallel_for, void *, int32_t);
} library;

static void *symbol(void *handle, const char *name) {
    void *found = dlsym(handle, name);
    if (found) return found;
    printf("FAILED: no %s\n", name);
    exit(1);
}

static library open_library(const char *path) {
    library l;
    l.handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!l.handle) {
        printf("FAILED: %s\n", dlerror());
        exit(1);
    }
    /* ISO C has no cast from an object's address to a function's. */
    *(void **)&l.version = symbol(l.handle, "hy_version");
    *(void **)&l.names = symbol(l.handle, "hy_names");
    *(void **)&l.find = symbol(l.handle, "hy_find");
    *(void **)&l.gradient = symbol(l.handle, "hy_gradient");
    *(void **)&l.release = symbol(l.handle, "hy_release");
    *(void **)&l.tensor_name = symbol(l.handle, "hy_tensor_name");
    *(void **)&l.infer = symbol(l.handle, "hy_infer");
    *(void **)&l.call = symbol(l.handle, "hy_call");
    *(void **)&l.set_parallel_for = symbol(l.handle, "hy_set_parallel_for");
    return l;
}

static hy_op *found(const library *l, const char *name, const char *attributes) {
    hy_error error;
    hy_op *op = l->find(name, attributes, &error);
    if (op) return op;
    printf("FAILED: %s\n", error.text);
    exit(1);
}

/* A tensor of f32 over `data`. The extents must live as long. */
static hy_tensor floats(void *data, int32_t rank, int64_t *shape, int64_t *strides) {
    hy_tensor t;
    memset(&t, 0, sizeof t);
    t.data = data;
    t.device.device_type = HY_CPU;
    t.ndim = rank;
    t.dtype.code = HY_FLOAT;
    t.dtype.bits = 32;
    t.dtype.lanes = 1;
    t.shape = shape;
    t.strides = strides;
    return t;
}

static void call_both(const library *first, const library *second) {
    float x[6] = {-1, 2, -3, 4, -5, 6}, y[6], c[4];
    int64_t flat[1] = {6}, left[2] = {2, 3}, right[2] = {3, 2}, square[2] = {2, 2};
    hy_op *relu = found(first, "relu", NULL), *matmul = found(second, "matmul", "");
    const hy_tensor in = floats(x, 1, flat, NULL), out = floats(y, 1, flat, NULL);
    hy_error error;
    expect(first->call(relu, &in, 1, &out, 1, &error) == HY_OK, error.text);
    for (int i = 0; i < 6; i++)
        expect(y[i] == (x[i] > 0 ? x[i] : 0), "relu is wrong");
    const hy_tensor operands[2] = {floats(x, 2, left, NULL), floats(x, 2, right, NULL)};
    const hy_tensor product = floats(c, 2, square, NULL);
    expect(second->call(matmul, operands, 2, &product, 1, &error) == HY_OK, error.text);
    expect(c[0] == 10 && c[3] == 24, "matmul is wrong");
    expect(first->call != second->call, "two libraries share hy_call()");
    expect(first->find("matmul", NULL, &error) == NULL && error.code == HY_NO_OP,
           "the first library has an op of the second");
    first->release(relu);
    second->release(matmul);
}

static void call_gradient(const library *l) {
    hy_error error;
    int32_t output = -1;
    hy_op *relu = found(l, "relu", NULL);
    hy_op *gradient = l->gradient(relu, "x", &output, &error);
    expect(gradient && output == 0, "relu has no gradient in x");
    if (!gradient) return;
    expect(strcmp(l->tensor_name(gradient, 1), "dy") == 0, "relu_dx has no input dy");
    float y[3] = {0, 2, 3}, dy[3] = {5, 6, 7}, dx[3];
    int64_t shape[1] = {3};
    const hy_tensor in[2] = {floats(y, 1, shape, NULL), floats(dy, 1, shape, NULL)};
    const hy_tensor out = floats(dx, 1, shape, NULL);
    expect(l->call(gradient, in, 2, &out, 1, &error) == HY_OK, error.text);
    expect(dx[0] == 0 && dx[1] == 6 && dx[2] == 7, "relu_dx is wrong");
    expect(!l->gradient(relu, "nothing", NULL, &error) && error.code == HY_NO_OP,
           "a gradient in an input that isn't there");
    l->release(gradient);
    l->release(relu);
}

/* Sets the gradient op's inputs of these names to the tensors, in the op's order. */
static void take_named(const library *l, const hy_op *gradient, const char *const *names,
                       const hy_tensor *tensors, int32_t count, hy_tensor *in) {
    for (int32_t k = 0; k < count; k++) {
        const char *const name = l->tensor_name(gradient, k);
        int32_t i = 0;
        while (i < count && strcmp(names[i], name) != 0)
            i++;
        if (i == count) {
            printf("FAILED: the gradient has an input %s\n", name);
            exit(1);
        }
        in[k] = tensors[i];
    }
}

/* dB = A^T dC: matmul's gradients are composed of other ops. */
static void call_gradient_of_product(const library *l) {
    float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 0, 1, 1, 1}, c[4] = {0}, dc[4] = {1, 10, 100, 1000};
    float da[6], db[6];
    const float expected[6] = {401, 4010, 502, 5020, 603, 6030};
    int64_t left[2] = {2, 3}, right[2] = {3, 2}, square[2] = {2, 2}, flat[1] = {6};
    const char *const names[4] = {"a", "b", "c", "dc"};
    const hy_tensor tensors[4] = {floats(a, 2, left, NULL), floats(b, 2, right, NULL),
                                  floats(c, 2, square, NULL), floats(dc, 2, square, NULL)};
    hy_tensor in[4], out[2] = {floats(da, 2, left, NULL), floats(db, 2, right, NULL)};
    hy_shape shapes[2];
    hy_error error;
    int32_t output = -1;
    hy_op *matmul = found(l, "matmul", ""), *gradient = l->gradient(matmul, "b", &output, &error);
    expect(gradient && output == 1, "matmul has no gradient in b");
    if (!gradient) return;
    take_named(l, gradient, names, tensors, 4, in);
    expect(l->infer(gradient, in, 4, shapes, 2, &error) == HY_OK, error.text);
    expect(shapes[1].ndim == 2 && shapes[1].extents[0] == 3 && shapes[1].extents[1] == 2,
           "the shape of db is wrong");
    expect(l->call(gradient, in, 4, out, 2, &error) == HY_OK, error.text);
    for (int k = 0; k < 6; k++)
        expect(db[k] == expected[k], "db is wrong");
    out[0] = floats(da, 1, flat, NULL);
    expect(l->call(gradient, in, 4, out, 2, &error) == HY_SHAPE, "da of another shape is taken");
    expect(strstr(error.text, "da has shape [6], expected [2,3]") != NULL, error.text);
    out[0] = floats(da, 2, left, NULL);
    in[3] = floats(dc, 2, left, NULL);
    expect(l->call(gradient, in, 4, out, 2, &error) == HY_SHAPE, "dc of another shape is taken");
    expect(strstr(error.text, "dc has shape [2,3], expected [2,2] as c") != NULL, error.text);
    l->release(gradient);
    l->release(matmul);
}

/* A composite: the mean of each row is 0. */
static void call_composite(const library *l) {
    float x[6] = {1, 2, 3, 10, 30, 20}, gamma[3] = {2, 2, 2}, beta[3] = {1, 1, 1}, y[6];
    float dy[6] = {1, 2, 3, 4, 5, 6}, dbeta[3], dx[6], dgamma[3];
    int64_t shape[2] = {2, 3}, row[1] = {3}, other[1] = {4}, column_major[2] = {1, 2};
    hy_error error;
    hy_shape inferred;
    hy_op *op = found(l, "layer_norm", "epsilon=1e-6");
    hy_tensor in[3] = {floats(x, 2, shape, NULL), floats(gamma, 1, row, NULL),
                       floats(beta, 1, row, NULL)};
    hy_tensor out = floats(y, 2, shape, NULL);
    expect(l->infer(op, in, 3, &inferred, 1, &error) == HY_OK, error.text);
    expect(inferred.ndim == 2 && inferred.extents[1] == 3, "the shape of layer_norm is wrong");
    expect(l->call(op, in, 3, &out, 1, &error) == HY_OK, error.text);
    for (int k = 0; k < 2; k++)
        expect(fabsf(y[3 * k] + y[3 * k + 1] + y[3 * k + 2] - 3) < 1e-5f, "layer_norm is wrong");
    out.strides = column_major;
    expect(l->call(op, in, 3, &out, 1, &error) == HY_OK, error.text);
    expect(fabsf(y[0] + y[2] + y[4] - 3) < 1e-5f, "layer_norm into columns is wrong");
    in[1] = floats(gamma, 1, other, NULL);
    expect(l->call(op, in, 3, &out, 1, &error) == HY_SHAPE, "gamma of another extent is taken");
    expect(strstr(error.text, "[layer_norm] gamma.c is 4, expected 3") != NULL, error.text);
    in[1] = floats(gamma, 1, row, NULL);

    const char *const names[4] = {"x", "gamma", "beta", "dy"};
    const hy_tensor tensors[4] = {in[0], in[1], in[2], floats(dy, 2, shape, NULL)};
    hy_tensor all[4], gradients[3] = {floats(dx, 2, shape, NULL), floats(dgamma, 1, row, NULL),
                                      floats(dbeta, 1, row, NULL)};
    int32_t output = -1;
    hy_op *gradient = l->gradient(op, "beta", &output, &error);
    expect(gradient && output == 2, "layer_norm has no gradient in beta");
    if (!gradient) return;
    take_named(l, gradient, names, tensors, 4, all);
    expect(l->call(gradient, all, 4, gradients, 3, &error) == HY_OK, error.text);
    expect(dbeta[0] == 5 && dbeta[1] == 7 && dbeta[2] == 9, "dbeta is wrong");
    expect(fabsf(dx[0] + dx[1] + dx[2]) < 1e-5f, "dx is wrong");
    l->release(gradient);
    l->release(op);
}

/* A call with one wrong thing in it. */
static void refuses(const library *l, const hy_op *op, const hy_tensor *in, int32_t inputs,
                    const hy_tensor *out, int32_t outputs, int32_t code, const char *text) {
    hy_error error;
    const int32_t got = l->call(op, in, inputs, out, outputs, &error);
    if (got == code && error.code == code && strstr(error.text, text)) return;
    printf("FAILED: code %d, expected %d; '%s' has no '%s'\n", (int)got, (int)code, error.text,
           text);
    failed = 1;
    l->call(op, in, inputs, out, outputs, NULL); /* without a place for the error */
}

static void refuse_tensors(const library *l) {
    float x[16] = {0}, y[16];
    int64_t shape[2] = {2, 3}, other[2] = {2, 4}, negative[2] = {2, -3}, huge[2] = {1 << 20, 1 << 20};
    int64_t backwards[2] = {3, -1}, same[2] = {0, 0}, folded[2] = {1, 1};
    hy_op *op = found(l, "softmax", "axis=1");
    const hy_tensor good = floats(x, 2, shape, NULL), result = floats(y, 2, shape, NULL);
    hy_tensor t;
    refuses(l, NULL, &good, 1, &result, 1, HY_NULL, "the op is null");
    refuses(l, op, NULL, 1, &result, 1, HY_NULL, "inputs is null");
    refuses(l, op, &good, 1, NULL, 1, HY_NULL, "outputs is null");
    refuses(l, op, &good, 2, &result, 1, HY_SHAPE, "got 2 inputs, expected 1");
    refuses(l, op, &good, -1, &result, 1, HY_SHAPE, "got -1 inputs");
    refuses(l, op, &good, 1, &result, 0, HY_SHAPE, "got 0 outputs, expected 1");
    t = floats(NULL, 2, shape, NULL);
    refuses(l, op, &t, 1, &result, 1, HY_NULL, "x.data is null");
    refuses(l, op, &good, 1, &t, 1, HY_NULL, "y.data is null");
    t = floats(x, 2, NULL, NULL);
    refuses(l, op, &t, 1, &result, 1, HY_NULL, "x.shape is null");
    t = floats(x, -1, shape, NULL);
    refuses(l, op, &t, 1, &result, 1, HY_SHAPE, "x has rank -1");
    t = floats(x, 1000000, shape, NULL);
    refuses(l, op, &t, 1, &result, 1, HY_SHAPE, "x has rank 1000000");
    t = floats(x, 0, NULL, NULL);
    refuses(l, op, &t, 1, &result, 1, HY_SHAPE, "softmax");
    t = floats(x, 2, negative, NULL);
    refuses(l, op, &t, 1, &result, 1, HY_SHAPE, "x has extent -3");
    t = floats(x, 2, huge, NULL);
    refuses(l, op, &t, 1, &result, 1, HY_SHAPE, "softmax");
    t = floats(x, 2, shape, backwards);
    refuses(l, op, &t, 1, &result, 1, HY_SHAPE, "stride -1");
    t = floats(y, 2, other, NULL);
    refuses(l, op, &good, 1, &t, 1, HY_SHAPE, "y has shape [2,4], expected [2,3]");
    t = floats(y, 2, shape, same);
    refuses(l, op, &good, 1, &t, 1, HY_SHAPE, "overlap each other");
    t = floats(y, 2, shape, folded);
    refuses(l, op, &good, 1, &t, 1, HY_SHAPE, "overlap each other");
    t = floats((char *)y + 1, 2, shape, NULL);
    refuses(l, op, &good, 1, &t, 1, HY_MEMORY, "1 bytes off");
    t = good;
    t.dtype.code = 99;
    refuses(l, op, &t, 1, &result, 1, HY_DTYPE, "dtype code 99");
    t.dtype = good.dtype;
    t.dtype.lanes = 4;
    refuses(l, op, &t, 1, &result, 1, HY_DTYPE, "4 lanes");
    t.dtype.lanes = 1;
    t.dtype.code = HY_INT;
    refuses(l, op, &t, 1, &result, 1, HY_DTYPE, "i32");
    t = result;
    t.dtype.bits = 64;
    refuses(l, op, &good, 1, &t, 1, HY_DTYPE, "y is f64, expected f32");
    t = good;
    t.device.device_type = 2;
    refuses(l, op, &t, 1, &result, 1, HY_DEVICE, "DLPack's type 2");
    refuses(l, op, &good, 1, &good, 1, HY_SHAPE, "y overlaps input x");
    t = floats(x + 1, 2, shape, NULL);
    refuses(l, op, &good, 1, &t, 1, HY_SHAPE, "y overlaps input x");
    l->release(op);
}

static void refuse_names(const library *l) {
    hy_error error;
    expect(!l->find(NULL, NULL, &error) && error.code == HY_NULL, "a null name");
    expect(!l->find("no_such_op", NULL, &error) && error.code == HY_NO_OP, "an unknown op");
    expect(!l->find("softmax", "axes=1", &error) && error.code == HY_ATTRIBUTE, "axes=1");
    expect(!l->find("softmax", "axis", &error) && error.code == HY_ATTRIBUTE, "axis");
    expect(!l->find("softmax", "axis=one", &error) && error.code == HY_ATTRIBUTE, "axis=one");
    expect(!l->find("softmax", "axis=1 axis=1", &error) && error.code == HY_ATTRIBUTE, "axis twice");
    expect(!l->find("no_such_op", NULL, NULL), "an unknown op without a place for the error");
    expect(!l->gradient(NULL, "x", NULL, &error) && error.code == HY_NULL, "a null op's gradient");
    expect(l->tensor_name(NULL, 0) == NULL, "a null op's tensor");
    char long_name[2000];
    memset(long_name, 'a', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    expect(!l->find(long_name, NULL, &error) && strlen(error.text) < sizeof error.text,
           "a long name");
    hy_op *op = found(l, "softmax", "axis=7");
    float x[6] = {0}, y[6];
    int64_t shape[2] = {2, 3};
    const hy_tensor in = floats(x, 2, shape, NULL), out = floats(y, 2, shape, NULL);
    expect(l->call(op, &in, 1, &out, 1, &error) != HY_OK && strstr(error.text, "axis"), "axis=7");
    l->release(op);
    l->release(NULL);
}

/* An elementwise op writes over its input; dimensions may be transposed on both sides. */
static void call_views(const library *l) {
    float x[6] = {-1, 2, -3, 4, -5, 6}, y[6] = {0};
    int64_t shape[2] = {2, 3}, transposed[2] = {1, 2};
    hy_error error;
    hy_op *relu = found(l, "relu", NULL);
    hy_tensor in = floats(x, 2, shape, transposed), out = floats(y, 2, shape, transposed);
    expect(l->call(relu, &in, 1, &out, 1, &error) == HY_OK, error.text);
    for (int i = 0; i < 6; i++)
        expect(y[i] == (x[i] > 0 ? x[i] : 0), "transposed relu is wrong");
    in = floats(x, 2, shape, NULL);
    expect(l->call(relu, &in, 1, &in, 1, &error) == HY_OK, error.text);
    for (int i = 0; i < 6; i++)
        expect(x[i] == y[i], "relu in place is wrong");
    int64_t none[2] = {0, 3};
    in = floats(NULL, 2, none, NULL);
    expect(l->call(relu, &in, 1, &in, 1, &error) == HY_OK, error.text);
    l->release(relu);
}

typedef struct job {
    const library *l;
    float result;
} job;

static void *in_thread(void *at) {
    job *j = at;
    float x[64], y[64];
    int64_t shape[2] = {4, 16};
    hy_op *op = found(j->l, "softmax", "axis=1");
    const hy_tensor in = floats(x, 2, shape, NULL), out = floats(y, 2, shape, NULL);
    for (int i = 0; i < 64; i++)
        x[i] = (float)(i % 16);
    for (int k = 0; k < 200; k++)
        if (j->l->call(op, &in, 1, &out, 1, NULL)) return NULL;
    j->result = y[15];
    j->l->release(op);
    return at;
}

static void call_in_threads(const library *l) {
    pthread_t threads[4];
    job jobs[4];
    for (int k = 0; k < 4; k++) {
        jobs[k].l = l;
        jobs[k].result = 0;
        if (pthread_create(&threads[k], NULL, in_thread, &jobs[k])) exit(1);
    }
    for (int k = 0; k < 4; k++) {
        pthread_join(threads[k], NULL);
        expect(fabsf(jobs[k].result - 0.6321206F) < 1e-5F, "softmax in a thread is wrong");
    }
}

static void count_tasks(void *host, int32_t count, hy_task task, void *context) {
    *(int *)host += count;
    for (int32_t i = count; i-- > 0;)
        task(context, i);
}

/* A long call spreads over the host's loop, once its time is known, and not before that is set. */
static void call_on_host_loop(const library *l) {
    enum { ROWS = 512, COLUMNS = 1024 };
    float *x = malloc(sizeof(float) * ROWS * COLUMNS), *y = malloc(sizeof(float) * ROWS * COLUMNS);
    if (!x || !y) exit(1);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)(i % 7);
    int64_t shape[2] = {ROWS, COLUMNS};
    int tasks = 0;
    hy_op *op = found(l, "softmax", "axis=1");
    const hy_tensor in = floats(x, 2, shape, NULL), out = floats(y, 2, shape, NULL);
    l->set_parallel_for(count_tasks, &tasks, 4);
    for (int k = 0; k < 3; k++)
        expect(l->call(op, &in, 1, &out, 1, NULL) == HY_OK, "softmax on a host's loop");
    expect(tasks > 0, "the host's loop was not called");
    l->set_parallel_for(NULL, NULL, 1);
    tasks = 0;
    expect(l->call(op, &in, 1, &out, 1, NULL) == HY_OK, "softmax on one thread");
    expect(tasks == 0, "a loop was called that was taken back");
    l->release(op);
    free(x);
    free(y);
}

int main(int count, char **paths) {
    if (count != 3) return 2;
    const library first = open_library(paths[1]), second = open_library(paths[2]);
    expect(first.version()->bytes == sizeof(hy_info), "hy_info has another size");
    expect(first.version()->tensor_bytes == sizeof(hy_tensor), "hy_tensor has another size");
    expect(first.version()->error_bytes == sizeof(hy_error), "hy_error has another size");
    expect(first.names()[0] != NULL, "a library without ops");
    call_both(&first, &second);
    call_gradient(&first);
    call_gradient_of_product(&second);
    call_composite(&second);
    call_views(&first);
    refuse_tensors(&first);
    refuse_names(&first);
    call_in_threads(&first);
    call_on_host_loop(&first);
    expect(dlclose(first.handle) == 0 && dlclose(second.handle) == 0, "dlclose");
    printf("%s\n", failed ? "FAILED" : "ok");
    return failed;
}
