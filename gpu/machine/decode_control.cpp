// Branches, barriers and the end.
#include "gpu/machine/decoder.h"

namespace halyard::ptx {
namespace {

void branch(Decoder &d) {
    d.take("uni");
    d.require_operands(1);
    const auto target = d.entry.labels.find(d.operand(0).name);
    if (target == d.entry.labels.end())
        d.refuse("to '" + d.operand(0).name + "', which is no label");
    d.step.control = Control::branch;
    d.step.target = uint32_t(target->second);
}

// Only the barrier of all threads of the block: "bar.sync 0".
void barrier(Decoder &d) {
    if (d.mnemonic() == "barrier") {
        d.take("cta");
        if (!d.take("sync") || !d.take("aligned")) d.refuse();
    } else if (d.take("warp")) {
        d.refuse();
    } else {
        d.take("cta");
        if (!d.take("sync")) d.refuse();
    }
    d.require_operands(1);
    if (d.operand(0).kind != Operand::Kind::number || d.operand(0).bits != 0)
        d.refuse("is supported for barrier 0 only");
    d.step.control = Control::barrier;
}

}  // namespace

bool decode_control(Decoder &d) {
    const std::string &name = d.mnemonic();
    if (name == "bra") {
        branch(d);
    } else if (name == "bar" || name == "barrier") {
        barrier(d);
    } else if (name == "ret" || name == "exit") {
        d.take("uni");
        d.step.control = Control::exit;
    } else {
        return false;
    }
    return true;
}

}  // namespace halyard::ptx
