// The composite op that a thread is in.
#pragma once
#include "registry/op/op_record.h"

namespace halyard {

// Returns the innermost composite op that this thread is in; null outside of any.
const OpRecord *running_composite();

// Makes `op` the running composite while it lives.
class CompositeScope {
public:
    explicit CompositeScope(const OpRecord &op);
    ~CompositeScope();
    CompositeScope(const CompositeScope &) = delete;
    CompositeScope &operator=(const CompositeScope &) = delete;

private:
    const OpRecord *before_;
};

}  // namespace halyard
