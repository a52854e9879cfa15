/* What the run time does for step.c beside calls of ops. The library shows none of these functions.
 * The tensors are the step's own, so they are not checked. All functions return the error's code,
 * or null on an error. */
#ifndef HALYARD_HY_STEP_H
#define HALYARD_HY_STEP_H

/* Sets the elements of `to` to those of `from`, converted to its dtype. */
int32_t hy_copy_elements(const hy_tensor *from, const hy_tensor *to, hy_error *error);

/* Sets all elements of a dense tensor. */
int32_t hy_fill_elements(const hy_tensor *to, double value, hy_error *error);

/* A check of indices or labels, which kernels trust, with what it was made with. */
typedef struct hy_host_step hy_host_step;
hy_host_step *hy_make_host_step(const char *name, const char *const *words, int32_t word_count,
                                const int64_t *numbers, int32_t number_count, hy_error *error);
void hy_release_host_step(hy_host_step *step); /* null is allowed */

/* Runs the step, and writes its results. */
int32_t hy_run_host_step(const hy_host_step *step, const hy_tensor *in, int32_t inputs,
                         const hy_tensor *out, int32_t outputs, hy_error *error);

#endif
