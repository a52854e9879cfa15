// Computing reproducibly, so that every machine writes the same project.
#pragma once
#include "registry/dispatch/reproducible.h"

namespace halyard::exporting {

// Reproducible mode is on while it lives.
class ReproducibleScope {
public:
    ReproducibleScope() : before_(reproducible()) { set_reproducible(true); }
    ~ReproducibleScope() { set_reproducible(before_); }
    ReproducibleScope(const ReproducibleScope &) = delete;
    ReproducibleScope &operator=(const ReproducibleScope &) = delete;

private:
    bool before_;
};

}  // namespace halyard::exporting
