// Checks of the names in an op's record, and of scalars that nothing reads. All throw AttrError
// with the line of the op file.
#pragma once
#include <set>
#include <string>

#include "dsl/kernel.h"

namespace halyard {

// Throws if a let, a derived scalar, a condition or an output's extent uses a name that is not a
// dimension, attribute, scalar or let of the op.
void check_names(const Op &op);

// Throws if a variant's condition uses an unknown name. It may also use `lanes`, strides ("x_s0"),
// and the tunables of its schedule, which are `tunables`.
void check_variant_names(const Op &op, const VariantSpec &v,
                         const std::map<std::string, int64_t> &tunables);

// Throws if an internal op is named like the gradient of another op of the same file, in an input
// that this op does not have.
void check_gradient_name(const Op &op, const OpTable &ops);

// Returns the names of the scalars that a kernel reads.
std::set<std::string> scalars_read(const Kernel &k);

// Throws if a scalar of the op is neither in `read`, the scalars that any of its kernels reads, nor
// used by an expression of the record. A gradient op may have its forward op's scalars unread.
void check_scalars(const Op &op, const OpTable &ops, const std::set<std::string> &read);

}  // namespace halyard
