// Attrs: the attribute values of one call, checked against the op's record and stored so that they
// hash in nanoseconds.
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

// A value that a caller may write for an attribute: 1, 0.5, true, "same", {1, 2}, DType::f32.
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
    // Gives attributes that are not in `given` their default. Throws AttrError on an unknown name,
    // a value of another kind, an unknown choice, and when a required attribute is missing.
    explicit Attrs(const OpRecord &op,
                   const std::vector<std::pair<std::string, AttrValue>> &given = {});
    // Takes the attributes of the constructor in the record's order, as generated code passes them.
    Attrs(const OpRecord &op, std::initializer_list<AttrValue> in_order);
    // Parses values as written on a command line: "stride" -> "2,2".
    Attrs(const OpRecord &op, const std::map<std::string, std::string> &text);
    // Copies the attributes that this op shares with other_op: a gradient op's from its forward op.
    Attrs(const OpRecord &op, const OpRecord &other_op, const Attrs &other);

    void set(size_t k, const AttrValue &value);  // k: index in the record

    // Returns an integer, a boolean (0 or 1), a choice (its index) or a dtype.
    int64_t integer(size_t k) const { return values_[k].i; }
    double real(size_t k) const { return values_[k].r; }
    const Ints &ints(size_t k) const { return values_[k].ints; }
    // Returns the value of an attribute of kind text.
    std::string words(size_t k) const { return {values_[k].ints.begin(), values_[k].ints.end()}; }
    // Returns the attribute's index in the record; -1 if there is none of this name.
    int find(const std::string &name) const;
    const OpRecord &op() const { return *op_; }

    // Hashes all values but real numbers, which are kernel arguments: calls that differ in nothing
    // else share a plan.
    uint64_t hash() const { return hash_; }
    bool plans_like(const Attrs &o) const {
        return hash_ == o.hash_ && op_ == o.op_ && values_ == o.values_;
    }
    // As above, without the attributes for which `left_out` is true: integers that are only kernel
    // arguments.
    uint64_t hash(const std::vector<bool> &left_out) const;
    bool plans_like(const Attrs &o, const std::vector<bool> &left_out) const;
    std::string text() const;  // "axis=1 keep_dims=0"
    // Returns the value of attribute k with all digits of reals, as a record's text has it.
    std::string exact_text(size_t k) const;
    // Returns what the constructor from text makes these attributes of, to the last bit.
    std::map<std::string, std::string> exact_texts() const;

private:
    struct Value {
        int64_t i = 0;
        double r = 0;
        Ints ints;  // the characters of a text
        bool operator==(const Value &o) const { return i == o.i && ints == o.ints; }
    };
    void assign(size_t k, const AttrValue &value);
    std::string value_text(size_t k, int digits) const;  // digits: of reals
    void rehash() { hash_ = hash({}); }
    const OpRecord *op_;
    std::vector<Value> values_;
    uint64_t hash_ = 0;
};

}  // namespace halyard
