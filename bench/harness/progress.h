// Progress: what a check is about to do, kept where a process that dies leaves it behind.
#pragma once
#include <functional>
#include <string>

namespace halyard::check {

// Plain memory, so that it may be shared with another process and read in a signal's handler.
struct Progress {
    char check[48];   // "reference"
    char step[2000];  // "f32/avx512/wide 'n=3 c=7'"
};

// From now on this process notes there what it does. Null: nowhere, which is how it begins.
void keep_progress_in(Progress *place);
// Called with every failure, as soon as it is known: a process that dies later takes its Report
// along.
void tell_failures_to(std::function<void(const std::string &)> listener);

// What comes next: a check by its name, or one of its steps, which says kernel, instruction set,
// dtype and sample.
void begins_check(const std::string &name);
void begins(const std::string &step);
void failed(const std::string &failure);

// "check reference, f32/avx512/wide 'n=3 c=7'"; "" for nothing begun
std::string text_of(const Progress &p);

// Where this process dies of a signal its progress is written to standard error first.
void say_progress_on_death();

}  // namespace halyard::check
