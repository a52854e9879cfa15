// Attrs: the attribute values of one call, checked against the op's record and flattened so that
// they hash in nanoseconds.
#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "registry/op/op_record.h"

namespace halyard {

using Ints = std::vector<int64_t>;

// What a caller may write for an attribute: 1, 0.5, true, "same", {1, 2}, DType::f32.
struct AttrValue {
    std::variant<int64_t, double, std::string, Ints> v;
    AttrValue(int64_t i) : v(i) {}
    AttrValue(int i) : v(int64_t(i)) {}
    AttrValue(bool b) : v(int64_t(b)) {}
    AttrValue(double d) : v(d) {}
    AttrValue(const char *s) : v(std::string(s)) {}
    AttrValue(std::string s) : v(std::move(s)) {}
    AttrValue(Ints i) : v(std::move(i)) {}
    AttrValue(DType d) : v(std::string(name_of(d))) {}
};

class Attrs {
public:
    // Every attribute of the record, in its order; those not given take their default.
    // Throws AttrError: unknown name, wrong kind, a choice that doesn't exist, a required one that
    // is missing.
    explicit Attrs(const OpRecord &op,
                   const std::vector<std::pair<std::string, AttrValue>> &given = {});
    // Those that aren't given at the call, in the record's order: what generated code passes.
    Attrs(const OpRecord &op, std::initializer_list<AttrValue> in_order);
    // "stride" -> "2,2", as typed on a command line
    Attrs(const OpRecord &op, const std::map<std::string, std::string> &text);
    // Those of `other` that this op knows too: how a gradient op gets its forward op's attributes.
    Attrs(const OpRecord &op, const OpRecord &other_op, const Attrs &other);

    void set(size_t k, const AttrValue &value);  // k: place in the record

    // also boolean (0, 1), choice (its place) and dtype
    int64_t integer(size_t k) const { return values_[k].i; }
    double real(size_t k) const { return values_[k].r; }
    const Ints &ints(size_t k) const { return values_[k].ints; }
    // of kind text
    std::string words(size_t k) const { return {values_[k].ints.begin(), values_[k].ints.end()}; }
    // -1: the op has no such attribute
    int find(const std::string &name) const;
    const OpRecord &op() const { return *op_; }

    // Of everything but real numbers: those only become kernel arguments, so calls that differ in
    // them share a plan.
    uint64_t hash() const { return hash_; }
    bool plans_like(const Attrs &o) const {
        return hash_ == o.hash_ && op_ == o.op_ && values_ == o.values_;
    }
    // The same, leaving out integers that only become kernel arguments, too: those at the places
    // that `left_out` has.
    uint64_t hash(const std::vector<bool> &left_out) const;
    bool plans_like(const Attrs &o, const std::vector<bool> &left_out) const;
    std::string text() const;  // "axis=1 keep_dims=0"

private:
    struct Value {
        int64_t i = 0;
        double r = 0;
        Ints ints;  // of a text its characters
        bool operator==(const Value &o) const { return i == o.i && ints == o.ints; }
    };
    void assign(size_t k, const AttrValue &value);
    void rehash() { hash_ = hash({}); }
    const OpRecord *op_;
    std::vector<Value> values_;
    uint64_t hash_ = 0;
};

}  // namespace halyard
