// Force: restricts this thread's calls to some kernels.
#pragma once
#include <string>

#include "registry/op/op_record.h"

namespace halyard {

// While it lives, this thread's calls use only kernels of this ISA and variant ("" for any). For
// tests and benches.
class Force {
public:
    Force(Isa isa, std::string variant, std::string backend = "cpu");
    ~Force();
    Force(const Force &) = delete;
    Force &operator=(const Force &) = delete;
    struct Choice {
        Isa isa;
        std::string variant, backend;
    };
    static const Choice *current() { return current_; }  // null: nothing is forced

private:
    [[gnu::tls_model("initial-exec")]] static constinit thread_local const Choice *current_;
    Choice choice_;
    const Choice *before_;
};

}  // namespace halyard
