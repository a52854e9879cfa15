// FusedChain: a chain of elementwise ops as text, the last of which may be a reduction, compiled to
// one kernel and compared with its ops, called one after another.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "dsl/chain.h"
#include "registry/dispatch/plan.h"

namespace halyard::command {

struct FusedRequest {
    // "t = mul(x, g); y = reduce_sum(t) axis=1". The tensors that no op computes are the inputs, in
    // the order in which they occur.
    std::string body;
    std::vector<std::string> inputs;   // their types: "f32[32,120]"
    std::vector<std::string> outputs;  // empty: the results that no op reads
    // The values of the elementwise ops' attributes; empty: their defaults.
    std::vector<double> numbers;
    Isa isa =
        Isa::baseline;  // no more than this, and no more than the kit's kernels of the ops have
};

class FusedChain {
public:
    // Throws Error for an op that can be in no region (graph/region.h), a reduction before the end,
    // and a wrong number of inputs, DTypeError if the inputs' dtypes differ, ShapeError for a text
    // that is no type, and AttrError for a wrong number of numbers.
    explicit FusedChain(const FusedRequest &request);

    // Compiles the kernel, or takes it from the kernel cache.
    void compile();

    // Compares the kernel's bits with those of its ops, for the inputs' shapes and for smaller ones
    // of their pattern. Returns the first difference; "" if there is none.
    std::string difference() const;
    // Returns the time of the ops divided by the kernel's, and the kernel's in seconds.
    struct Times {
        double ratio = 0, seconds = 0;
    };
    Times times() const;

    const RegisteredOp &op() const { return op_; }
    const std::string &library() const { return library_; }  // the path of the kernel's
    const std::string &symbol() const { return symbol_; }
    Isa isa() const { return isa_; }
    size_t calls() const { return steps_.size(); }
    size_t numbers() const { return real_attributes_; }  // attributes of the elementwise ops
    // The reduction at the end; "" if there is none. Its kernel is of the variant that the call of
    // the reduction alone gets.
    std::string reduction() const { return reduces() ? steps_.back().op->record.name : ""; }
    const std::string &variant() const { return variant_; }

private:
    struct Step {
        const RegisteredOp *op = nullptr;
        std::vector<size_t> arguments;  // places among inputs and results
        Attrs attrs;
        std::string result;
    };
    using Shapes = std::vector<Shape>;

    void read_inputs(const FusedRequest &request);
    void read_steps(const FusedRequest &request);
    void limit_isa();
    void choose_outputs(const FusedRequest &request);
    void check_reduction() const;
    void make_record();
    bool reduces() const { return steps_.back().op->record.form == Form::reduction; }
    std::string variant_for(const Shape &shape) const;
    Attrs attrs() const;
    std::string signature() const;
    std::vector<unsigned> broadcasts() const;
    std::vector<Tensor> tensors(const Shapes &shapes, bool with_specials) const;
    // Calls the ops, and returns inputs and results.
    std::vector<Tensor> values(const std::vector<Tensor> &inputs) const;
    std::string difference(const Shapes &shapes, bool with_specials) const;
    Shapes shapes_with(int64_t salt) const;
    Shapes shapes_to_time() const;

    std::string dtype_;
    DType type_ = DType::f32;
    Shapes shapes_;
    std::vector<std::string> names_;  // of the inputs and results
    std::vector<Step> steps_;
    std::vector<std::string> outputs_;
    std::vector<double> numbers_;
    size_t real_attributes_ = 0;  // of the elementwise ops
    Isa isa_;
    RegisteredOp op_;
    std::string chain_body_;  // without the reduction's attributes
    std::string library_, symbol_, variant_;
};

}  // namespace halyard::command
