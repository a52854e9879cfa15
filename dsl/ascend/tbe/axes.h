// The axes of an unscheduled algorithm: sets of dimensions of Funcs and tensors that are indexed by
// the same variable.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dsl/kernel.h"

namespace halyard::ascend {

// Throws AttrError "E-EMIT: stage `where`: TBE can't say `why`".
[[noreturn]] void refuse_tbe(const std::string &op, const std::string &where,
                             const std::string &why);

// The constructor throws by refuse_tbe() if dimensions can't be mapped to axes: an index isn't a
// variable, two dimensions of one tensor are the same axis, tensors have their axes in different
// orders, or a tensor isn't dense.
class Axes {
public:
    explicit Axes(const Kernel &k);

    // Returns the axes, outermost first, without those of extent 1 and those that only products of
    // matrices sum over.
    const std::vector<int> &order() const { return order_; }
    int64_t extent(int axis) const { return extents_.at(axis); }
    const Halide::Internal::Function &function(const std::string &func) const {
        return environment_.at(func);
    }
    // Returns the axes of a Func's arguments and of its reduction variables, by name.
    std::map<std::string, int> variables(const std::string &func) const;
    // Returns the axes of a Func's arguments.
    std::set<int> dims(const std::string &func) const;
    // Returns the axes that a Func's update reduces.
    std::set<int> reduced(const std::string &func) const;
    // Returns the number of an input, given Halide's name for it.
    size_t input(const std::string &name) const;
    // Returns the axes of an input, without those that it is broadcast along.
    std::set<int> of_input(size_t k) const;
    // Returns the axes of a tensor, outermost first. Outputs are numbered after the inputs.
    std::vector<int> layout_of(size_t k) const;
    // Returns true if a Func is a product of two f16 matrices, whose numbers operands() returns.
    bool is_product(const std::string &func) const { return products_.count(func) != 0; }
    bool multiplied(size_t input) const { return multiplied_.count(input) != 0; }
    std::pair<size_t, size_t> operands(const std::string &func) const { return products_.at(func); }

private:
    // A dimension of a Func or an input, or the name of a reduction variable and -1.
    using Node = std::pair<std::string, int>;
    Node root(const Node &n) const;
    int axis(const Node &n) const { return ids_.at(root(n)); }
    void join(const Node &a, const Node &b) { parent_[root(a)] = root(b); }
    void visit(const std::string &func, const Halide::Internal::Definition &d);
    void find_products(const Halide::Func &output);
    void number_axes();
    void add_order(size_t k);
    void order_axes();

    const Kernel &k_;
    std::map<std::string, Halide::Internal::Function> environment_;
    std::map<Node, Node> parent_;
    std::map<Node, int> ids_;
    std::map<int, int64_t> extents_;
    std::map<std::string, std::set<std::string>> over_;  // the reduction variables of a Func
    std::map<std::string, int64_t> over_extents_;
    std::map<std::string, std::pair<size_t, size_t>> products_;
    std::set<size_t> multiplied_;  // inputs that are matrices of a product
    std::vector<int> order_;
};

}  // namespace halyard::ascend
