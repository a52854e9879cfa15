// Rows are made by any thread of the pool, and by one that waits there for a loop of its own.
#pragma once
#include "primitives/autograd/tape.h"
#include "registry/tensor/call_listener.h"

namespace halyard::dataset {

// For its lifetime neither a tape nor a capture of this thread records what the thread does: a
// training step that waits for its kernel may make a row, which is no part of the step.
class ApartFromStep {
    const ListenerScope unheard_{nullptr};
    const StopTape untaped_;
};

}  // namespace halyard::dataset
