// Progress: what a check is doing, in memory that outlives the process.
#pragma once
#include <functional>
#include <string>

namespace halyard::check {

// Plain memory, so that it can be shared with another process and read in a signal handler.
struct Progress {
    char check[48];   // "reference"
    char step[2000];  // "f32/avx512/wide 'n=3 c=7'"
};

// Makes this process write its progress to `place`. Null, the default, discards it.
void keep_progress_in(Progress *place);
// Sets a function that is called with every failure at once. A process that dies later loses its
// Report, but not these.
void set_failure_listener(std::function<void(const std::string &)> listener);

// Records the check that begins, by its name, or its next step: kernel, instruction set, dtype and
// sample.
void begin_check(const std::string &name);
void begin_step(const std::string &step);
// Passes a failure to the listener, if there is one.
void report_failure(const std::string &failure);

// Returns "check reference, f32/avx512/wide 'n=3 c=7'", or "" if nothing has begun.
std::string text_of(const Progress &p);

// Writes this process's progress to standard error if it dies of a signal.
void print_progress_on_death();

}  // namespace halyard::check
