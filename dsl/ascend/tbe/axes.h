// The axes of an unscheduled algorithm: which dimensions of its Funcs and tensors are the same one.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dsl/kernel.h"

namespace halyard::ascend {

// AttrError "E-EMIT: stage `where` of `op`: .."
[[noreturn]] void refuse_tbe(const std::string &op, const std::string &where,
                             const std::string &why);

// Throws by refuse_tbe() where dimensions don't come to axes: an index that isn't a variable, two
// dimensions of one tensor that are the same axis, tensors whose axes lie in different orders, or
// aren't dense.
class Axes {
public:
    explicit Axes(const Kernel &k);

    // Outermost first, without those of extent 1 and those that only products of matrices sum over.
    const std::vector<int> &order() const { return order_; }
    int64_t extent(int axis) const { return extents_.at(axis); }
    const Halide::Internal::Function &function(const std::string &func) const {
        return environment_.at(func);
    }
    // its arguments, and what its update goes over
    std::map<std::string, int> variables(const std::string &func) const;
    // that its values move with
    std::set<int> dims(const std::string &func) const;
    // that its update goes over
    std::set<int> reduced(const std::string &func) const;
    // by Halide's name
    size_t input(const std::string &name) const;
    // that it moves with: not those that it is broadcast along
    std::set<int> of_input(size_t k) const;
    // the same, outermost first; of outputs past the inputs, too
    std::vector<int> lying(size_t k) const;
    // of two matrices of f16
    bool is_product(const std::string &func) const { return products_.count(func) != 0; }
    bool multiplied(size_t input) const { return multiplied_.count(input) != 0; }
    std::pair<size_t, size_t> operands(const std::string &func) const { return products_.at(func); }

private:
    // a dimension of a Func or an input; of a reduction variable its name and -1
    using Node = std::pair<std::string, int>;
    Node root(const Node &n) const;
    int axis(const Node &n) const { return ids_.at(root(n)); }
    void join(const Node &a, const Node &b) { parent_[root(a)] = root(b); }
    void visit(const std::string &func, const Halide::Internal::Definition &d);
    void find_products(const Halide::Func &output);
    void number();
    void put_in_order();

    const Kernel &k_;
    std::map<std::string, Halide::Internal::Function> environment_;
    std::map<Node, Node> parent_;
    std::map<Node, int> ids_;
    std::map<int, int64_t> extents_;
    std::map<std::string, std::set<std::string>> over_;  // of a Func: its reduction variables
    std::map<std::string, int64_t> over_extents_;
    std::map<std::string, std::pair<size_t, size_t>> products_;
    std::set<size_t> multiplied_;  // inputs that are matrices of a product
    std::vector<int> order_;
};

}  // namespace halyard::ascend
