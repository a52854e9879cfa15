// A listener that records a graph. It finds out where numbers go that the host computes anew in
// each run of a program, such as learning rates, because a captured graph must not keep the first
// run's; and it knows which part of the program runs.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard {

struct NumberSource {
    // Returns the numbers of the next run.
    std::function<std::vector<double>()> values;
    // Returns which of several sequences of calls the next run makes, such as that of a first step.
    std::function<int64_t()> phase;
};

using NumberedRun = std::function<void(std::span<const double> numbers)>;

class GraphListener : public CallListener {
public:
    // Calls run(source.values()), perhaps after a call with other numbers whose effects on
    // `written` are undone.
    virtual void with_numbers(const NumberSource &source, std::span<const Tensor> written,
                              const NumberedRun &run) = 0;
    // Returns the names of the PartScopes that live, the outermost first: "Net/conv1-Conv2d".
    virtual std::string part() const = 0;
};

// Returns the part of the program that this thread runs; "" unless a graph is recorded.
inline std::string current_part() {
    const auto *const listener = dynamic_cast<const GraphListener *>(call_listener());
    return listener ? listener->part() : "";
}

// Calls run(source.values()). The run passes its numbers on to attributes and Arguments as they
// are, computes none from them, decides by them nothing that the phase doesn't tell, and writes no
// older tensors but `written`. The source is called unheard.
void run_with_numbers(const NumberSource &source, std::span<const Tensor> written,
                      const NumberedRun &run);

}  // namespace halyard
