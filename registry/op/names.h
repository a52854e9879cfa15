// The names that a record's expressions may use, and their values.
#pragma once
#include "registry/op/attrs.h"
#include "registry/op/signature.h"

namespace halyard {

// Adds integer attributes, their parts and the names of choices to `dims`.
void bind_attributes(const Attrs &attrs, Dims &dims);

// Adds lets and derived scalars to `dims`, each as soon as `dims` holds all names it needs. A let
// join_h_w other than 0 allows kernels to take maps of h rows as one row of h*w.
void bind_derived(const OpRecord &op, Dims &dims);

// Throws AttrError or ShapeError when a condition of the op fails. Without `all`, conditions with a
// name that is not in `dims` yet are skipped.
void check_conditions(const OpRecord &op, const Dims &dims, bool all);

}  // namespace halyard
