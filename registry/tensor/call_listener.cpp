#include "registry/tensor/call_listener.h"

#include <utility>

namespace halyard {

constinit thread_local CallListener *detail::listener = nullptr;

ListenerScope::ListenerScope(CallListener *listener)
    : before_(std::exchange(detail::listener, listener)) {}
ListenerScope::~ListenerScope() {
    detail::listener = before_;
}

}  // namespace halyard
