// Draws: the base of random kernels. Element i is a pure function of (seed, offset, i), so every
// backend, instruction set and number of threads draws the same numbers. It uses words of
// Philox4x32-10:
//   counter = (i / 64 * 16 + i % 16, lane, offset), key = seed, word i % 64 / 16.
// The four words of a block belong to elements that are 16 apart, so a vector of blocks gives
// vectors of elements. `lane` distinguishes the blocks of an element that needs more than one word.
#pragma once
#include "dsl/math/philox.h"
#include "dsl/op.h"

namespace halyard {

struct Draws : Op {
    Draws(const std::string &name, const std::string &signature) : Op(name, signature) {
        internal = true;
    }

    static constexpr int block = 16, words = 4;
    static constexpr int tile = block * words;
    Expr seed_lo = scalar("seed_lo", 0), seed_hi = scalar("seed_hi", 0),
         offset_lo = scalar("offset_lo", 0), offset_hi = scalar("offset_hi", 0);
    Var n{"n"}, b{"b"};

    // Returns the four words of block b.
    std::vector<Expr> block_of(int lane) const;
    // Returns word w of the Func that stores block_of().
    static Expr word(const Halide::FuncRef &drawn, const Expr &w) {
        return select(w == 0, Expr(drawn[0]), w == 1, Expr(drawn[1]), w == 2, Expr(drawn[2]),
                      Expr(drawn[3]));
    }
    static Expr block_at(const Expr &i) { return i / tile * block + i % block; }
    static Expr word_at(const Expr &i) { return i / block % words; }

    // For references: returns word w of element i's block.
    static uint32_t word(const Problem &p, int64_t i, int lane, int64_t w);
    static int64_t word_at(int64_t i) { return i / block % words; }
};

}  // namespace halyard
