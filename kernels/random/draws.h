// Draws: a kernel whose element i is made of random words, a pure function of (seed, offset, i), so
// that every backend, instruction set and number of threads draws the same:
//   counter = (i / 64 * 16 + i % 16, lane, offset), key = seed, word i % 64 / 16.
// A block's four words serve elements 16 apart, so that vectors of blocks are vectors of elements.
// `lane` tells apart the blocks of an element that needs more than a word.
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

    // The four words of block b.
    std::vector<Expr> block_of(int lane) const;
    // Word w of what block_of() was stored as.
    static Expr word(const Halide::FuncRef &drawn, const Expr &w) {
        return select(w == 0, Expr(drawn[0]), w == 1, Expr(drawn[1]), w == 2, Expr(drawn[2]),
                      Expr(drawn[3]));
    }
    static Expr block_at(const Expr &i) { return i / tile * block + i % block; }
    static Expr word_at(const Expr &i) { return i / block % words; }

    // The same for references: word w of element i's block.
    static uint32_t word(const Problem &p, int64_t i, int lane, int64_t w);
    static int64_t word_at(int64_t i) { return i / block % words; }
};

}  // namespace halyard
