/* Operators of Halyard as a C library: C11 and C++.
 *
 * Every function but hy_version(), hy_names() and the accessors takes an hy_error, which may be
 * null, and reports through it and its result. No function ends the process or throws. All
 * functions may be called on several threads at once. */
#ifndef HALYARD_HY_H
#define HALYARD_HY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A library with another one has other types or functions. */
#define HY_INTERFACE 1
#define HY_MAX_RANK 8

/* A tensor is DLPack's DLTensor. Where dlpack.h is included before this header, it is that type. */
#ifdef DLPACK_DLPACK_H_
typedef DLDevice hy_device;
typedef DLDataType hy_dtype;
typedef DLTensor hy_tensor;
#else
typedef struct hy_device {
    int32_t device_type; /* HY_CPU */
    int32_t device_id;
} hy_device;

typedef struct hy_dtype {
    uint8_t code; /* HY_INT, ... */
    uint8_t bits;
    uint16_t lanes; /* 1 */
} hy_dtype;

typedef struct hy_tensor {
    void *data;
    hy_device device;
    int32_t ndim;
    hy_dtype dtype;
    int64_t *shape;
    int64_t *strides; /* in elements, none negative; null: dense in row-major order */
    uint64_t byte_offset;
} hy_tensor;
#endif

/* DLPack's numbers. */
enum { HY_CPU = 1 };
enum { HY_INT = 0, HY_UINT = 1, HY_FLOAT = 2, HY_BFLOAT = 4, HY_BOOL = 6 };

typedef enum hy_code {
    HY_OK = 0,
    HY_NULL = 1,      /* an argument is null */
    HY_NO_OP = 2,     /* the library has no such op, input or gradient */
    HY_ATTRIBUTE = 3, /* an attribute is unknown, missing or out of range */
    HY_SHAPE = 4,     /* the number of tensors, a rank, extents, strides, overlapping memory */
    HY_DTYPE = 5,     /* a dtype that the op doesn't take, or two that disagree */
    HY_DEVICE = 6,    /* a tensor that is not in the CPU's memory */
    HY_MEMORY = 7,    /* an allocation failed, or an address is not aligned to its dtype */
    HY_KERNEL = 8,    /* no kernel takes the call, or the kernel failed */
    HY_OTHER = 9
} hy_code;

typedef struct hy_error {
    int32_t code;
    char text[508]; /* "[op] what is wrong", cut to fit */
} hy_error;

typedef struct hy_info {
    uint32_t bytes; /* of this struct in the library: fields beyond it don't exist there */
    uint32_t interface_version; /* HY_INTERFACE */
    uint32_t tensor_bytes;
    uint32_t error_bytes;
    const char *kit; /* the version of Halyard */
} hy_info;

/* An op with its attributes. */
typedef struct hy_op hy_op;

const hy_info *hy_version(void);

/* Returns the names of the library's ops, gradient ops too, with a null pointer behind the last. */
const char *const *hy_names(void);

/* Returns an op with the attributes of a text such as "axis=1 epsilon=1e-5 stride=2,2"; null or ""
 * stands for the defaults. The caller releases it with hy_release(). Returns null on an error. */
hy_op *hy_find(const char *name, const char *attributes, hy_error *error);

/* Returns the op that computes the gradient in the input of this name, with the attributes of `op`,
 * and the number of the output that is this gradient. The inputs of that op are named after the
 * inputs and outputs of `op`; dy is the gradient in output y. Returns null on an error. */
hy_op *hy_gradient(const hy_op *op, const char *input, int32_t *output, hy_error *error);

void hy_release(hy_op *op); /* null is allowed */

/* Return the name and the signature, "x[..n,c] -> y[..n,c]"; the numbers of tensors; and the name
 * of tensor k, counted over the inputs and then the outputs. Null or 0 for a null op or another
 * k. */
const char *hy_name(const hy_op *op);
const char *hy_signature(const hy_op *op);
int32_t hy_inputs(const hy_op *op);
int32_t hy_outputs(const hy_op *op);
const char *hy_tensor_name(const hy_op *op, int32_t k);

typedef struct hy_shape {
    hy_dtype dtype;
    int32_t ndim;
    int64_t extents[HY_MAX_RANK];
} hy_shape;

/* Sets the shapes and dtypes that the outputs of a call have. The data of `in` is not read and may
 * be null. Returns the error's code. */
int32_t hy_infer(const hy_op *op, const hy_tensor *in, int32_t inputs, hy_shape *out,
                 int32_t outputs, hy_error *error);

/* Runs the op. Outputs have the shapes and dtypes of hy_infer(), in the caller's memory, with any
 * strides that give each element its own place. No output may overlap an input, except that an
 * elementwise op may write exactly over one. After an error, outputs may be written in part.
 * Returns the error's code. */
int32_t hy_call(const hy_op *op, const hy_tensor *in, int32_t inputs, const hy_tensor *out,
                int32_t outputs, hy_error *error);

/* Calls task(context, i) for each i in [0, count), in any order, on any threads, and returns when
 * all of these calls have returned. */
typedef void (*hy_task)(void *context, int32_t i);
typedef void (*hy_parallel_for)(void *host, int32_t count, hy_task task, void *context);

/* Sets the loop on which long calls spread over `threads` threads. At first, and for a null loop or
 * one thread, a call runs on the thread that makes it. The bits of results don't depend on it. */
void hy_set_parallel_for(hy_parallel_for loop, void *host, int32_t threads);

#ifdef __cplusplus
}
#endif
#endif
