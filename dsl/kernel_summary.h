// What faults at one place of a lowered kernel depend on in the rest of it (dsl/mutate.h).
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

// Returns true if the expression loads from the buffer.
bool loads(const Halide::Expr &e, const std::string &buffer);

// The stores of a loop.
struct LoopStores {
    bool repeats_store = false;  // several iterations store to the same element,
    bool differs = false;        // other values than those before, or what they load,
    bool accumulates = false;    // and that store reads the old value
    // The extent of an inner loop depends on this one, so that an extra iteration does nothing.
    bool bounds_inner_loop = false;
};
LoopStores stores_of(const Halide::Internal::For *loop);

// Returns true if the statement has no loop or branch, and stores to fixed places of these buffers,
// what no other buffer contains.
bool only_fills(const Halide::Internal::Stmt &s, const std::set<std::string> &buffers);

class KernelSummary {
public:
    // An empty summary, or that of a kernel's statement.
    KernelSummary() = default;
    explicit KernelSummary(const Halide::Internal::Stmt &kernel);

    // The names of a buffer's strides, by dimension.
    std::map<std::string, std::vector<std::string>> strides;
    // The buffers with an update that reads the element it overwrites.
    std::set<std::string> accumulators;
    // The inputs that are loaded, by type and name.
    std::map<Halide::Type, std::map<std::string, Halide::Parameter>> inputs_of_type;

    // Returns true for a let that is part of an index, of a loop's bounds or of a branch's
    // condition.
    bool is_index(const std::string &let) const { return indices_.count(let) != 0; }
    // Returns true for a let that is only part of masks of loads from arrays of constant size. LLVM
    // loads from these without the mask.
    bool masks_arrays_only(const std::string &let) const {
        return array_masks_.count(let) && !other_uses_.count(let);
    }
    // Returns true for a let that is part of a buffer's size or of an index, and of no loop's
    // bounds or branch's condition: Halide infers what a buffer has to hold.
    bool is_size_of_buffer(const std::string &let) const {
        return sizes_.count(let) && !controls_.count(let);
    }
    // Returns true for a local array of constant size.
    bool is_array(const std::string &buffer) const { return arrays_.count(buffer) != 0; }
    // Returns true for numbers of 32 bits whose mantissa has no more bits than that of an f16, so
    // that no precision is lost.
    bool has_few_bits(const Halide::Expr &e) const;

private:
    class Collector;
    bool parts_have_few_bits(const Halide::Expr &e) const;
    void find_few_bits();
    void add_parts(std::set<std::string> &names) const;

    std::set<std::string> indices_, arrays_;
    std::set<std::string> sizes_, controls_;  // variables in buffers' sizes; in bounds and branches
    std::set<std::string> array_masks_, other_uses_;  // variables in such masks, and elsewhere
    std::multimap<std::string, Halide::Expr> lets_;
    std::map<std::string, std::vector<Halide::Expr>> stores_;  // the values that a buffer gets
    std::set<std::string> few_bits_;                           // buffers of numbers with few bits
};

}  // namespace halyard
