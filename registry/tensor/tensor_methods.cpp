#include "registry/tensor/tensor_methods.h"

namespace halyard {
namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local MethodRecorder recorder = nullptr;

}  // namespace

MethodRecorder method_recorder() {
    return recorder;
}

MethodRecorder set_method_recorder(MethodRecorder next) {
    return std::exchange(recorder, next);
}

}  // namespace halyard
