#include "primitives/running_composite.h"

#include <utility>

namespace halyard {
namespace {

thread_local const OpRecord *composing = nullptr;

}  // namespace

const OpRecord *running_composite() {
    return composing;
}

CompositeScope::CompositeScope(const OpRecord &op) : before_(std::exchange(composing, &op)) {}
CompositeScope::~CompositeScope() {
    composing = before_;
}

}  // namespace halyard
