#include "registry/base/tile_product.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>
#endif

namespace halyard {

#if defined(__x86_64__)

bool may_use_tiles() {
    static const bool may = [] {
        // Linux saves the tiles' 8 KB of state for a process that asked for it only.
        constexpr long request_permission = 0x1023;
        constexpr long tile_data = 18;
        return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
    }();
    return may;
}

namespace {

#define HALYARD_TILES __attribute__((target("amx-tile,amx-int8,amx-bf16,avx512f")))

constexpr int rows_of_tile = 16;
constexpr int bytes_of_row = 64;

// What ldtilecfg reads.
struct alignas(64) TileConfig {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t bytes[16] = {};
    uint8_t rows[16] = {};
};

enum class Product : uint8_t { bf16, u8_i8 };

// The operands of one step: 16 groups of k. Rows of a are 64 bytes of k, rows of b one group of
// every column.
struct Step {
    const char *a;
    int64_t a_stride;
    const char *b;
    int64_t b_stride;
};

// The tiles' numbers are part of the instructions: 0 to 3 hold c, 4 and 5 rows of a, 6 and 7
// columns of b.
template<Product product> HALYARD_TILES inline void add_products(const Step &s, bool lower_rows) {
    _tile_loadd(6, s.b, s.b_stride);
    _tile_loadd(7, s.b + bytes_of_row, s.b_stride);
    _tile_loadd(4, s.a, s.a_stride);
    if constexpr (product == Product::bf16) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
    } else {
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
    }
    if (!lower_rows) return;
    _tile_loadd(5, s.a + rows_of_tile * s.a_stride, s.a_stride);
    if constexpr (product == Product::bf16) {
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    } else {
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
    }
}

// The last groups of k, fewer than 16, with zeros behind them.
struct PaddedStep {
    alignas(64) char a[2 * rows_of_tile][bytes_of_row];
    alignas(64) char b[rows_of_tile][2 * bytes_of_row];

    PaddedStep(const Step &s, int rows, int groups) {
        std::memset(this, 0, sizeof *this);
        for (int r = 0; r < rows; r++)
            std::memcpy(a[r], s.a + r * s.a_stride, size_t(groups) * 4);
        for (int k = 0; k < groups; k++)
            std::memcpy(b[k], s.b + k * s.b_stride, sizeof b[k]);
    }
    Step step() const { return {a[0], bytes_of_row, b[0], 2 * bytes_of_row}; }
};

// Makes the compiler store what `p` points to. GCC's functions for tiles don't say what they read.
void store_before_use(const void *p) {
    asm volatile("" : : "r"(p) : "memory");
}

// Configures the tiles for products of at most 32 rows.
HALYARD_TILES void configure_tiles(int rows) {
    TileConfig config;
    for (int t = 0; t < 8; t++) {
        config.bytes[t] = bytes_of_row;
        config.rows[t] = rows_of_tile;
    }
    for (const int t : {0, 1, 4})
        config.rows[t] = uint8_t(std::min(rows, rows_of_tile));
    if (rows > rows_of_tile) {
        for (const int t : {2, 3, 5})
            config.rows[t] = uint8_t(rows - rows_of_tile);
    }
    store_before_use(&config);
    _tile_loadconfig(&config);
}

// Adds the products of at most 32 rows, for which the tiles are configured.
template<Product product>
HALYARD_TILES void add_products_of_rows(char *c, int64_t c_stride, Step s, int rows, int groups) {
    const bool lower_rows = rows > rows_of_tile;
    char *const c_lower = c + rows_of_tile * c_stride;
    _tile_loadd(0, c, c_stride);
    _tile_loadd(1, c + bytes_of_row, c_stride);
    if (lower_rows) {
        _tile_loadd(2, c_lower, c_stride);
        _tile_loadd(3, c_lower + bytes_of_row, c_stride);
    }
    for (; groups >= rows_of_tile; groups -= rows_of_tile) {
        add_products<product>(s, lower_rows);
        s.a += bytes_of_row;
        s.b += rows_of_tile * s.b_stride;
    }
    if (groups > 0) {
        const PaddedStep padded(s, rows, groups);
        store_before_use(&padded);
        add_products<product>(padded.step(), lower_rows);
    }
    _tile_stored(0, c, c_stride);
    _tile_stored(1, c + bytes_of_row, c_stride);
    if (lower_rows) {
        _tile_stored(2, c_lower, c_stride);
        _tile_stored(3, c_lower + bytes_of_row, c_stride);
    }
}

template<Product product>
HALYARD_TILES void add_tile_products(char *c, int64_t c_stride, Step s, int rows, int groups) {
    constexpr int most = 2 * rows_of_tile;
    int configured = 0;
    while (rows > 0) {
        const int now = std::min(rows, most);
        if (now != std::exchange(configured, now)) configure_tiles(now);
        add_products_of_rows<product>(c, c_stride, s, now, groups);
        c += now * c_stride;
        s.a += now * s.a_stride;
        rows -= now;
    }
    _tile_release();
}

}  // namespace

#else

bool may_use_tiles() {
    return false;
}

#endif

}  // namespace halyard

extern "C" {

#if defined(__x86_64__)

int halyard_tile_product_bf16(void *c, int64_t c_offset, int64_t c_stride, const void *a,
                              int64_t a_offset, int64_t a_stride, const void *b, int64_t b_offset,
                              int64_t b_stride, int rows, int groups) {
    using namespace halyard;
    add_tile_products<Product::bf16>(static_cast<char *>(c) + c_offset, c_stride,
                                     {static_cast<const char *>(a) + a_offset, a_stride,
                                      static_cast<const char *>(b) + b_offset, b_stride},
                                     rows, groups);
    return 0;
}

int halyard_tile_product_u8i8(void *c, int64_t c_offset, int64_t c_stride, const void *a,
                              int64_t a_offset, int64_t a_stride, const void *b, int64_t b_offset,
                              int64_t b_stride, int rows, int groups) {
    using namespace halyard;
    add_tile_products<Product::u8_i8>(static_cast<char *>(c) + c_offset, c_stride,
                                      {static_cast<const char *>(a) + a_offset, a_stride,
                                       static_cast<const char *>(b) + b_offset, b_stride},
                                      rows, groups);
    return 0;
}

#else

int halyard_tile_product_bf16(void *, int64_t, int64_t, const void *, int64_t, int64_t,
                              const void *, int64_t, int64_t, int, int) {
    return -1;
}

int halyard_tile_product_u8i8(void *, int64_t, int64_t, const void *, int64_t, int64_t,
                              const void *, int64_t, int64_t, int, int) {
    return -1;
}

#endif

}  // extern "C"
