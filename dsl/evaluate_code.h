// An expression as a tree of nodes that evaluate fast: what dsl/evaluate.cpp computes with.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard::evaluation {

// Integers as they are, unsigned ones without their sign; floats as doubles. The type stands in the
// node.
union Value {
    int64_t i = 0;
    double f;
};

enum class Kind : uint8_t {
    constant,
    slot,  // a variable of the definition
    let,
    argument,  // a scalar, or an extent, a stride or a beginning of a tensor
    cast,
    reinterpret,
    add,
    sub,
    mul,
    div,
    mod,
    min,
    max,
    equal,
    less,
    both,
    either,
    negate,  // of a condition
    bit_and,
    bit_or,
    bit_xor,
    bit_not,
    shift_left,
    shift_right,
    absolute,
    difference,  // |a - b|
    floor,
    choose,
    load,  // from an input
    read,  // of another Func
    read_self,
};

struct Node {
    Kind kind = Kind::constant;
    halide_type_t type, operand;   // of the result, and of the first operand
    std::array<int, 3> args = {};  // operands: places of nodes
    std::vector<int> places;       // of a load and a read: the indices
    Value value;                   // constant
    int index = 0;                 // slot, let: which; argument, load, read: of what
    int component = 0;             // of a Tuple
};

// What a definition's names mean; the owner of the Funcs and arguments says.
struct Names {
    std::map<std::string, int> slots;  // its variables
    // the place of a Func among the owner's
    std::function<int(const Halide::Internal::Call *)> func;
    // of a scalar, "x.extent.0" and the like
    std::function<int(const std::string &name, const Halide::Type &)> argument;
    std::function<int(const std::string &name)> input;  // of a tensor
    // the Func that is defined
    std::string self;
};

// The expressions of one definition, which share variables. Lets are computed when they are first
// needed.
class Code {
public:
    explicit Code(Names names) : names_(std::move(names)), slots_(int(names_.slots.size())) {}
    int add(const Halide::Expr &e);  // the place of its root. Throws UnsupportedDefinition

    std::vector<Node> nodes;
    int slots() const { return slots_; }

private:
    int compiled(const Halide::Expr &e);
    int call(const Halide::Internal::Call *c);
    int intrinsic(const Halide::Internal::Call *c);
    int put(Kind kind, const Halide::Type &t, const std::vector<Halide::Expr> &args);

    Names names_;
    int slots_;
    // nodes of one expression may be one object
    std::map<const Halide::Internal::IRNode *, int> done_;
    std::vector<Halide::Expr> alive_;
};

Value wrapped(Value v, halide_type_t t);  // as `t` keeps it
// of two operands, of one where that is all the kind has
Value computed(const Node &n, Value a, Value b);
Value converted(Value v, halide_type_t from, halide_type_t to);  // a cast
Value loaded(const void *at, halide_type_t t);
void stored(void *at, halide_type_t t, Value v);

}  // namespace halyard::evaluation
