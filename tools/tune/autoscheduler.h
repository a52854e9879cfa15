// Runs Halide's autoschedulers on an op's algorithm. Call it in a process of its own: plugins may
// abort or hang.
#pragma once
#include "dsl/kernel.h"
#include "tools/tune/job.h"

namespace halyard::tune {

const std::vector<std::string> &autoschedulers();  // mullapudi2016, adams2019, li2018, anderson2021

// Returns the op's algorithm, scheduled by job.autoscheduler for job.layouts and compiled; for a
// GPU backend only scheduled. Throws Error if the autoscheduler rejects it.
Built autoschedule(const Job &job);

// Returns the algorithm in modular integers with the schedule that autoschedule() makes. Returns
// null, with the reason in `why`, if that isn't possible. Call it before this process has built a
// kernel.
KernelFn exact_autoscheduled(const Job &job, std::string &why);

// Translates the plugins' output to the names in an op's file.
class OpWords {
public:
    explicit OpWords(const Kernel &k);  // before it is scheduled
    // Returns the schedule with the names of the op's file.
    std::string of(const std::string &source) const;

private:
    std::map<std::string, std::string> members_;  // sum$9 and sum_9 -> sum
    std::map<std::string, std::string> loops_;    // r4$x -> a declaration of it
};

}  // namespace halyard::tune
