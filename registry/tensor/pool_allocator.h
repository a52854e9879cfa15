// Vectors whose memory comes from the pool: it counts against the limit, and a failed allocation is
// a MemoryError.
#pragma once
#include <limits>
#include <new>
#include <vector>

#include "registry/tensor/memory.h"

namespace halyard {

template<class T> struct PoolAllocator {
    using value_type = T;
    PoolAllocator() = default;
    template<class U> PoolAllocator(const PoolAllocator<U> &) {}
    T *allocate(size_t n) {
        if (n > std::numeric_limits<size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
        return static_cast<T *>(memory::allocate(n * sizeof(T)));
    }
    void deallocate(T *block, size_t) { memory::release(block); }
    friend bool operator==(const PoolAllocator &, const PoolAllocator &) { return true; }
};

template<class T> using PoolVector = std::vector<T, PoolAllocator<T>>;

}  // namespace halyard
