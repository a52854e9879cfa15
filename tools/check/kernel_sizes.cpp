#include "tools/check/kernel_sizes.h"

#include <cstdlib>
#include <set>

namespace halyard::check {
namespace {
using namespace Halide::Internal;

class SizeCollector : public IRVisitor {
public:
    std::set<int64_t> found;

private:
    using IRVisitor::visit;
    void visit(const IntImm *op) override {
        const int64_t size = std::abs(op->value);
        if (size >= 2 && size <= largest_kernel_size) found.insert(size);
    }
    void visit(const AssertStmt *) override {}  // of the arguments' types and ranks
};

}  // namespace

std::vector<int64_t> kernel_sizes(const Kernel &k) {
    Halide::Pipeline pipeline = k.pipeline;
    const Halide::Module module = pipeline.compile_to_module(k.arguments(), k.op->name, k.target);
    SizeCollector sizes;
    // Not the functions' bodies, in which quotients are shifts.
    module.get_conceptual_stmt().accept(&sizes);
    return {sizes.found.begin(), sizes.found.end()};
}

}  // namespace halyard::check
