// Values: lowers an expression over a nest of loops to vector instructions, one for each operation
// (the passes `decompose` and `legalise`).
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "Halide.h"
#include "dsl/ascend/lowering/vector.h"

namespace halyard::ascend {

// Returns the dtype of a Halide type on the chip; bool is u8. Throws DTypeError if the chip has
// none.
DType dtype_of(const Halide::Type &t);

// The value of an expression at every point of the space: elements, or one number for all points.
struct Value {
    bool is_number = false;
    Operand operand;
    dv::Number number;
    DType dtype = DType::f32;
    bool is_temporary = false;  // holds one reference to a temporary buffer
};

class Values {
public:
    // Returns the elements that a load reads; of dtype `becomes`, if there is such a copy. A
    // temporary may be overwritten.
    using Loads = std::function<Value(const Halide::Internal::Load *, DType becomes)>;
    // Returns the register of an expression that depends on run-time numbers alone.
    using Scalars = std::function<dv::Number(const Halide::Expr &)>;
    Values(Writer &w, Vectors &space, const dv::Profile &chip, Loads load, Scalars scalar)
        : w_(w), space_(space), chip_(chip), load_(std::move(load)), scalar_(std::move(scalar)) {}

    // Computes `e`, into `into` if given. Unless the expression reads `into` (is_read),
    // intermediate results may be stored there, too. Throws NotVectorizable.
    Value of(const Halide::Expr &e, const Operand *into = nullptr, bool is_read = false);

    Value binary(dv::VecOp op, Value a, Value b, const Operand *into = nullptr);
    void store(Value v, const Operand &into);

private:
    Writer &w_;
    Vectors &space_;
    const dv::Profile &chip_;
    Loads load_;
    Scalars scalar_;
    std::map<std::string, Value> lets_;
    // Number of references to each temporary. A let's counts as often as its name is used.
    std::map<std::string, int> references_;
    std::vector<const Halide::Internal::Load *> loads_;
    Halide::Expr whole_;              // the expression whose loads they are
    std::optional<Operand> scratch_;  // the result's memory, a temporary until the result is stored
    bool scratch_taken_ = false;
    bool is_scratch(const Value &v) const {
        return scratch_ && v.operand.ref.buffer == scratch_->ref.buffer;
    }

    Value eval(const Halide::Expr &e, const Operand *into);
    Value load(const Halide::Internal::Variable *named, DType becomes);
    Value variable(const Halide::Internal::Variable *v);
    Value let(const Halide::Internal::Let *l, const Operand *into);
    Value cast(const Halide::Internal::Cast *c, const Operand *into);
    Value call(const Halide::Internal::Call *c, const Operand *into);
    Value bitwise_call(const Halide::Internal::Call *c, const Operand *into);
    Value integer_power(Value a, Value b, const Operand *into);
    Value rounded(Value x, dv::Round round, const Operand *into);
    bool is_per_row(const Value &v) const;
    Value binary_of_bytes(dv::VecOp op, Value a, Value b, const Operand *into);
    Value with_number(dv::VecOp instruction, Value a, const dv::Number &n, const Operand *into);
    Value with_row_numbers(dv::VecOp op, Value a, Value b, const Operand *into);
    Value bitwise(dv::VecOp op, Value a, Value b, const Operand *into = nullptr);
    Value reinterpreted(Value a, DType t);
    Value complement(Value a, const Operand *into);
    Value unary(dv::VecOp op, Value a, const Operand *into);
    Value converted(Value a, DType to, const Operand *into, dv::Round round = dv::Round::none);
    Value converted_numbers(const Value &a, DType to, dv::Round round);
    Value select(const Halide::Expr &condition, Value x, Value y, const Operand *into);
    void make_comparable(dv::CmpOp &op, Value &a, Value &b);
    Value compared(dv::CmpOp op, Value a, Value b, Value x, Value y, const Operand *into);
    Value compared_as_f32(dv::CmpOp op, Value a, Value b, Value x, Value y, const Operand *into);
    Vectors on(const Operand &o);
    Value result(DType t, const Operand *into, std::initializer_list<Value *> operands,
                 bool separate = false);
    // Makes `v` elements: a number becomes a block of it, and one number for each row a block for
    // each row.
    Operand elements(Value &v);
    void release(Value &v);
    void refer(const Value &v, int more);
    Value owned(const Operand &o, DType t);  // the first reference to a temporary
};

}  // namespace halyard::ascend
