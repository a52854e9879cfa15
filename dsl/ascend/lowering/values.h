// Values: an expression over a nest of loops as vector instructions, one for each operation (the
// passes `decompose` and `legalise`).
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "Halide.h"
#include "dsl/ascend/lowering/vector.h"

namespace halyard::ascend {

// of what lies on the chip; a bool is u8. Throws DTypeError for what it hasn't.
DType dtype_of(const Halide::Type &t);

// A value of every point of the space: elements, or a number that all have.
struct Value {
    bool is_number = false;
    Operand operand;
    dv::Number number;
    DType dtype = DType::f32;
    bool own = false;  // one reference to a temporary
};

class Values {
public:
    // What a load reads; of the type it becomes, if there is such a copy. One of its own may be
    // written over.
    using Loads = std::function<Value(const Halide::Internal::Load *, DType becomes)>;
    // registers of what depends on run-time numbers only
    using Scalars = std::function<dv::Number(const Halide::Expr &)>;
    Values(Writer &w, Vectors &space, const dv::Profile &chip, Loads load, Scalars scalar)
        : w_(w), space_(space), chip_(chip), load_(std::move(load)), scalar_(std::move(scalar)) {}

    // The value, written to `into` where that is given; unless the expression reads it, steps on
    // the way are, too. Throws NotVector.
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
    // to temporaries, by buffer: those of a let count as often as its name stands somewhere
    std::map<std::string, int> references_;
    std::vector<const Halide::Internal::Load *> loads_;
    Halide::Expr whole_;              // of which they are the loads
    std::optional<Operand> scratch_;  // where the result goes: until then a temporary
    bool scratch_taken_ = false;
    bool is_scratch(const Value &v) const {
        return scratch_ && v.operand.ref.buffer == scratch_->ref.buffer;
    }

    Value eval(const Halide::Expr &e, const Operand *into);
    Value load(const Halide::Internal::Variable *named, DType becomes);
    Value call(const Halide::Internal::Call *c, const Operand *into);
    Value bitwise(dv::VecOp op, Value a, Value b, const Operand *into = nullptr);
    Value reinterpreted(Value a, DType t);
    Value complement(Value a, const Operand *into);
    Value unary(dv::VecOp op, Value a, const Operand *into);
    Value converted(Value a, DType to, const Operand *into, dv::Round round = dv::Round::none);
    Value select(const Halide::Expr &condition, Value x, Value y, const Operand *into);
    Value compared(dv::CmpOp op, Value a, Value b, Value x, Value y, const Operand *into);
    Vectors on(const Operand &o);
    Value result(DType t, const Operand *into, std::initializer_list<Value *> operands,
                 bool apart = false);
    Operand elements(Value &v);  // a number as a block of it, rows' numbers as blocks of them
    void release(Value &v);
    void refer(const Value &v, int more);
    Value owned(const Operand &o, DType t);  // a new temporary
};

}  // namespace halyard::ascend
