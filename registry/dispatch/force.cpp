#include "registry/dispatch/force.h"

#include <utility>

namespace halyard {

constinit thread_local const Force::Choice *Force::current_ = nullptr;

Force::Force(Isa isa, std::string variant, std::string backend)
    : choice_{isa, std::move(variant), std::move(backend)},
      before_(std::exchange(current_, &choice_)) {}
Force::~Force() {
    current_ = before_;
}

}  // namespace halyard
