// Streams: read, write and copy memory with the widest loads and stores, on the calling thread.
#pragma once
#include <cstdint>

namespace halyard::roofs {

// Returns a value that depends on every byte, so that no compiler removes the reads.
uint64_t read_stream(const char *from, int64_t bytes);
// Write or copy `bytes`, with stores that go through the caches.
void write_stream(char *to, int64_t bytes);
void copy_stream(char *to, const char *from, int64_t bytes);
// Copies with non-temporal stores: the target isn't read before it is written. `to` and `bytes` are
// multiples of 64.
void copy_past_caches(char *to, const char *from, int64_t bytes);
// Computes to = a + b over floats; each has `bytes` bytes, a multiple of 64. It has two streams in,
// one out.
void add_stream(char *to, const char *a, const char *b, int64_t bytes);

}  // namespace halyard::roofs
