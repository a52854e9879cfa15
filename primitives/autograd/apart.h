// What runs on a thread beside the thread's own work: a thread that waits for a loop of its own on
// the pool runs iterations of other threads' loops meanwhile.
#pragma once
#include "primitives/autograd/tape.h"
#include "registry/tensor/call_listener.h"

namespace halyard {

// For its lifetime neither a tape nor a capture of this thread records what the thread does. Loops
// whose bodies call ops make one in each iteration, as those of data pipelines do: a training step
// that waits for its kernel may make a row, which is no part of the step.
class ApartFromStep {
    const ListenerScope unheard_{nullptr};
    const StopTape untaped_;
};

}  // namespace halyard
