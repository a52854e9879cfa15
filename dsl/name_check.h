// Names in an op's record that nothing has, and scalars that nothing reads. All throw AttrError
// with the line of the op's source.
#pragma once
#include <set>
#include <string>

#include "dsl/kernel.h"

namespace halyard {

// A name in a let, a derived scalar, a condition or an output's extents that is no dimension,
// attribute, scalar or let of the op.
void check_names(const Op &op);

// The same of a variant's condition, which knows `lanes`, strides as x_s0, and what its schedule
// picks as well.
void check_variant_names(const Op &op, const VariantSpec &v,
                         const std::map<std::string, int64_t> &picks);

// An internal op that is called like the gradient of another one of the same file, in an input
// which that one doesn't have.
void check_gradient_name(const Op &op, const OpTable &ops);

// The scalars that a kernel reads, and the refusal of those that no kernel of the op reads and no
// expression names. A gradient has those of its forward op, whether it reads them or not.
std::set<std::string> scalars_read(const Kernel &k);
void check_scalars(const Op &op, const OpTable &ops, const std::set<std::string> &read);

}  // namespace halyard
