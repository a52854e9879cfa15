// What is known at one place of a lowered kernel in every call, and what follows from it.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dsl/call_facts.h"

namespace halyard {

// The values of variables over the op's dimensions and attributes, and the conditions of the
// branches and loops around.
class KnownFacts {
public:
    explicit KnownFacts(const CallFacts &facts)
        : values_(facts.values), conditions_(facts.conditions) {
        for (const auto &[name, value] : facts.values)
            of_call_.insert(name);
    }

    // The kernel reads the extents and strides of its arguments in lets, too: the call's values of
    // these say more.
    void add_let(const std::string &name, const Halide::Expr &value);
    void remove_let(const std::string &name) {
        if (!of_call_.count(name)) values_.erase(name);
    }
    // Adds a condition that holds until forget().
    void assume(const Halide::Expr &condition) { conditions_.push_back(with_values(condition)); }
    void forget() { conditions_.pop_back(); }
    bool proves(const Halide::Expr &condition) const;
    // Returns true if no lane of the condition can be true.
    bool excludes(const Halide::Expr &condition) const;
    // Returns true for a condition of two lanes whose second one can't be true: what remains of a
    // row after whole vectors of two.
    bool only_first_lane(const Halide::Expr &condition) const;
    // Returns the same facts for questions that take many proofs. These have a limit of their own,
    // so that they leave the others theirs.
    KnownFacts for_details() const {
        KnownFacts facts = *this;
        facts.proofs_left_ = details_left_;
        return facts;
    }
    // The same for questions about the order of a loop's turns.
    KnownFacts for_races() const {
        KnownFacts facts = *this;
        facts.proofs_left_ = races_left_;
        return facts;
    }

private:
    Halide::Expr with_values(const Halide::Expr &e) const;

    // Proofs that copies of these facts may try together: kernels of many loops would take minutes.
    std::shared_ptr<int> proofs_left_ = std::make_shared<int>(300);
    std::shared_ptr<int> details_left_ = std::make_shared<int>(300);
    std::shared_ptr<int> races_left_ = std::make_shared<int>(300);
    std::map<std::string, Halide::Expr> values_;
    std::set<std::string> of_call_;  // the names of CallFacts::values
    std::vector<Halide::Expr> conditions_;
};

// Returns true unless the statement is proved to store nothing and to have no other effect. With
// `details`, which take longer, what it stores to its own buffers is no effect, nor is 0 that it
// adds.
bool may_have_effect(const Halide::Internal::Stmt &s, const KnownFacts &known, bool details);

// Returns true if all turns of a loop but the first are proved to store nothing, as beyond the rows
// that whole blocks leave. Then their order has no effect.
bool only_first_turn_stores(const Halide::Internal::For *loop, const KnownFacts &known);

}  // namespace halyard
