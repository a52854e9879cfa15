// Draws: the base of random kernels. Element i is a pure function of (seed, offset, i), so every
// backend, instruction set and number of threads draws the same numbers. Philox4x32-10 makes blocks
// of four words from a counter and a key. Element i has
//   counter = (i / 64 * 16 + i % 16, lane, offset), key = seed, word i % 64 / 16.
// So a tile of 64 elements has 16 blocks. The four words of a block belong to elements that are 16
// apart, so a vector of blocks gives vectors of elements. `lane` distinguishes the blocks of an
// element that needs more than one word.
#pragma once
#include "dsl/math/philox.h"
#include "dsl/op.h"

namespace halyard {

struct Draws : Op {
    Draws(const std::string &name, const std::string &signature) : Op(name, signature) {
        internal = true;
    }

    static constexpr int tile_blocks = 16, block_words = 4;
    static constexpr int tile = tile_blocks * block_words;  // in elements
    Expr seed_lo = scalar("seed_lo", 0), seed_hi = scalar("seed_hi", 0),
         offset_lo = scalar("offset_lo", 0), offset_hi = scalar("offset_hi", 0);
    Var n{"n"}, b{"b"};

    // Returns the four words of the block of Philox with index b.
    std::vector<Expr> block_of(int lane) const;
    // Returns word w of a block, which a Func of block_of() stores.
    static Expr word(const Halide::FuncRef &block, const Expr &w) {
        return select(w == 0, Expr(block[0]), w == 1, Expr(block[1]), w == 2, Expr(block[2]),
                      Expr(block[3]));
    }
    // Returns the index of element i's block, and of its word in the block.
    static Expr block_at(const Expr &i) { return i / tile * tile_blocks + i % tile_blocks; }
    static Expr word_at(const Expr &i) { return i / tile_blocks % block_words; }

    // For references: returns word w of element i's block.
    static uint32_t word(const Problem &p, int64_t i, int lane, int64_t w);
    static int64_t word_at(int64_t i) { return i / tile_blocks % block_words; }
};

}  // namespace halyard
