#include "tools/composite_op.h"

#include "dsl/op.h"
#include "primitives/composites/composite.h"

namespace halyard {
namespace {

class CompositeOp : public Op {
public:
    explicit CompositeOp(const Composite &c) : Op(c.name, c.signature), composite_(c) {
        static_cast<OpRecord &>(*this) = c;
    }
    void reference(Problem &p) const override { composite_.reference(p); }

private:
    const Composite &composite_;
};

}  // namespace

void add_composites(OpTable &ops) {
    for (const auto &c : composites().all())
        ops.insert([&composite = *c] { return std::make_unique<CompositeOp>(composite); });
}

}  // namespace halyard
