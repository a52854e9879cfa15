#include "dsl/variables.h"

#include <utility>

namespace halyard {

std::set<std::string> variables_of(const Halide::Expr &e) {
    struct : Halide::Internal::IRVisitor {
        using IRVisitor::visit;
        void visit(const Halide::Internal::Variable *v) override { names.insert(v->name); }
        std::set<std::string> names;
    } found;
    e.accept(&found);
    return std::move(found.names);
}

}  // namespace halyard
