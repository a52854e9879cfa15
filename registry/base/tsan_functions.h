// Functions that kernels call which are instrumented for the thread sanitizer. A program that has
// such kernels includes this header in one file.
#pragma once
#ifdef __SANITIZE_THREAD__
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {

void __tsan_write_range(void *from, unsigned long bytes);

// Kernels call this after stores that are wider than those that are instrumented
// (dsl/wide_stores.h).
int halyard_wide_store(void *memory, int64_t offset, int64_t bytes) {
    __tsan_write_range(static_cast<char *>(memory) + offset, static_cast<unsigned long>(bytes));
    return 0;
}

// GCC's libtsan lacks these functions (LLVM's has them). The plain ones that they forward to are
// intercepted.
[[gnu::weak]] void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
    return std::memcpy(to, from, bytes);
}
[[gnu::weak]] void *__tsan_memmove(void *to, const void *from, size_t bytes) {
    return std::memmove(to, from, bytes);
}
[[gnu::weak]] void *__tsan_memset(void *to, int value, size_t bytes) {
    return std::memset(to, value, bytes);
}

}  // extern "C"
#endif
