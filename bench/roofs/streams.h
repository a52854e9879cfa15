// Streams: memory read, written and copied with the widest loads and stores there are, on the
// calling thread. Nothing else is done.
#pragma once
#include <cstdint>

namespace halyard::roofs {

// A value that depends on every byte, so that no compiler leaves the reading out.
uint64_t read_stream(const char *from, int64_t bytes);
void write_stream(char *to, int64_t bytes);
void copy_stream(char *to, const char *from, int64_t bytes);
// With stores that go past the caches: memory needn't be read before it is written. `to` is a
// multiple of 64, `bytes` too.
void copy_past_caches(char *to, const char *from, int64_t bytes);
// to = a + b, of floats, `bytes` each, a multiple of 64: two streams in, one out.
void add_stream(char *to, const char *a, const char *b, int64_t bytes);

}  // namespace halyard::roofs
