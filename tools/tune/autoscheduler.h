// Halide's autoschedulers on an op's algorithm. To be called in a process of their own: plugins
// abort, and some don't come back.
#pragma once
#include "dsl/kernel.h"
#include "tools/tune/compiler.h"

namespace halyard::tune {

const std::vector<std::string> &autoschedulers();  // mullapudi2016, adams2019, li2018, anderson2021

// The op's algorithm, scheduled by job.autoscheduler for job.layouts and compiled; for a GPU
// backend only scheduled. Throws Error where it refuses.
Built autoschedule(const Job &job);

// The schedule that autoschedule() makes, put onto the algorithm in modular integers. Null, and the
// reason in `why`, where it can't be. To be called before this process has built a kernel.
KernelFn exact_autoscheduled(const Job &job, std::string &why);

// The words of an op's file for what the plugins print.
class OpWords {
public:
    explicit OpWords(const Kernel &k);  // as it is before it is scheduled
    std::string of(const std::string &source) const;

private:
    std::map<std::string, std::string> members_;  // sum$9 and sum_9 -> sum
    std::map<std::string, std::string> loops_;    // r4$x -> a declaration of it
};

}  // namespace halyard::tune
