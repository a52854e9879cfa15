// ShapeBinder: applies the shape rule of an op to one call. It binds the dimensions that the inputs
// name, derives lets, checks every other extent, and computes the shapes of the outputs. Planning,
// compositions and checks use it, so that each rule and each message stands once.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "registry/op/op_record.h"
#include "registry/op/signature.h"
#include "registry/tensor/shape.h"

namespace halyard {

class ShapeBinder {
public:
    // `called` holds the inputs' shapes as the caller wrote them, for messages. `dims` holds the
    // attributes and given dimensions; bind() adds dimensions and lets. All arguments must outlive
    // the binder. Throws ShapeError for another number of inputs or a wrong rank:
    //   [conv2d] x has rank 3, expected 4 (n,c,h,w)
    ShapeBinder(const OpRecord &op, const Signature &sig, std::span<const Shape> called,
                Dims &dims);

    // Binds and checks all inputs. `ordered` holds their shapes with the dimensions in the
    // signature's order. A dimension that has a value, from an earlier input, a let or the caller,
    // must have that value; names of an expression may be bound by later inputs. Throws ShapeError,
    // for example
    //   [matmul] b.k is 4, expected 3 from a[2,3] (b has shape [4,5])
    // and AttrError if an expression has a name without a value.
    void bind(std::span<const Shape> ordered);

    // After bind(): the shape of output k, with the dimensions in the signature's order. Throws
    // what extents_of() throws.
    Shape output(size_t k) const;
    // The broadcast of all [*] inputs, and of all leading ..n.
    const Shape &any_rank() const { return any_rank_; }
    const Shape &group() const { return group_; }

private:
    void broadcast_dimensions(const TensorSpec &t, const Shape &ordered);
    void bind_extents(size_t k, const Shape &ordered);
    void check_extent(size_t k, int64_t got, const ParsedExpr &expected) const;
    [[noreturn]] void refuse_extent(size_t k, const std::string &extent, int64_t got,
                                    int64_t expected) const;
    std::string source_of(size_t k, const std::string &extent) const;

    // An extent that could not be checked yet: dimension d, counted in the signature, of input k.
    struct Deferred {
        size_t k, d;
        int64_t got;
    };
    const OpRecord &op_;
    const Signature &sig_;
    const std::span<const Shape> called_;
    Dims &dims_;
    Shape any_rank_, group_;
    std::vector<Deferred> deferred_;
};

// Throws ShapeError unless the op takes this number of tensors.
void require_input_count(const Signature &sig, size_t count);

// Returns the values of `extents`, which are t's. If one is negative, throws the error of the op's
// condition that forbids the call, if there is one, and else ShapeError:
//   [conv2d] y.h-u+1 is -1, expected 0 or more with h=1, u=3
Shape extents_of(const OpRecord &op, const TensorSpec &t, const std::vector<std::string> &extents,
                 const Dims &dims);

}  // namespace halyard
