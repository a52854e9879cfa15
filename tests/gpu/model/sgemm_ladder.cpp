#include "tests/gpu/model/sgemm_ladder.h"

#include <bit>
#include <cstdarg>
#include <cstdio>

#include "gpu/model/live_registers.h"
#include "tests/gpu/run_ptx.h"

namespace halyard::ptx {
namespace {

constexpr uint32_t whole = 4096;  // the extent of the matrices
constexpr uint32_t depth = 1024;  // of those that the machine multiplies
constexpr uint32_t word = 4;      // bytes

// How the tile of b stands in shared memory, beside its rows: in the order in which threads read
// it, or in rows that are 5 words longer.
enum class Panel : uint8_t { rows, linear, padded };

// A block computes bm x bn elements in steps of bk terms. A warp computes wm x wn of them, each
// thread tm x tn in each of several parts.
struct Tiles {
    uint32_t bm, bn, bk, tm, tn, threads;
    bool wide = false;  // 16 bytes from global memory at once, and the tile of a is transposed
    Panel panel = Panel::rows;
    uint32_t wm = 0, wn = 0, parts_n = 1;  // wm = 0: threads are in rows of the whole block
};

// Writes PTX, a line at a time. Each number that it hands out is a new register.
class Writer {
public:
    void line(const char *format, ...) __attribute__((format(printf, 2, 3))) {
        char text[256];
        va_list values;
        va_start(values, format);
        std::vsnprintf(text, sizeof text, format, values);
        va_end(values);
        code_ += std::string("    ") + text + "\n";
    }
    void label(const char *name) { code_ += std::string(name) + ":\n"; }
    uint32_t r() { return r_++; }
    uint32_t rd() { return rd_++; }
    uint32_t f() { return f_++; }

    // %r<result> = %r<of> / by and %r<of> % by, which are powers of 2.
    uint32_t quotient(uint32_t of, uint32_t by) {
        const uint32_t to = r();
        line("shr.u32 %%r%u, %%r%u, %d;", to, of, std::countr_zero(by));
        return to;
    }
    uint32_t remainder(uint32_t of, uint32_t by) {
        const uint32_t to = r();
        line("and.b32 %%r%u, %%r%u, %u;", to, of, by - 1);
        return to;
    }
    // Returns a * factor + b.
    uint32_t combined(uint32_t a, uint32_t factor, uint32_t b) {
        const uint32_t to = r();
        line("mad.lo.u32 %%r%u, %%r%u, %u, %%r%u;", to, a, factor, b);
        return to;
    }
    uint32_t times(uint32_t a, uint32_t factor) {
        const uint32_t to = r();
        line("mul.lo.u32 %%r%u, %%r%u, %u;", to, a, factor);
        return to;
    }
    // Returns the address of element %r<index> of parameter number `parameter`.
    uint32_t address(uint32_t parameter, uint32_t index) {
        const uint32_t base = rd(), offset = rd(), to = rd();
        line("ld.param.u64 %%rd%u, [p%u];", base, parameter);
        line("mul.wide.u32 %%rd%u, %%r%u, %u;", offset, index, word);
        line("add.s64 %%rd%u, %%rd%u, %%rd%u;", to, base, offset);
        return to;
    }
    uint32_t thread() {
        const uint32_t to = r();
        line("mov.u32 %%r%u, %%tid.x;", to);
        return to;
    }
    std::vector<uint32_t> zeros(uint32_t count) {
        std::vector<uint32_t> all;
        for (uint32_t k = 0; k < count; k++) {
            all.push_back(f());
            line("mov.f32 %%f%u, 0f00000000;", all.back());
        }
        return all;
    }
    // Opens and closes a loop that runs so many times.
    uint32_t begin_loop(uint32_t times) {
        const uint32_t left = r();
        line("mov.u32 %%r%u, %u;", left, times);
        label("more");
        return left;
    }
    void end_loop(uint32_t left) {
        line("sub.u32 %%r%u, %%r%u, 1;", left, left);
        line("setp.ne.u32 %%p1, %%r%u, 0;", left);
        line("@%%p1 bra more;");
    }

    std::string text(uint64_t shared_bytes) const {
        std::string variables;
        if (shared_bytes > 0)
            variables = ".shared .align 16 .b8 tiles[" + std::to_string(shared_bytes) + "];\n";
        const auto count = [](uint32_t n) { return "<" + std::to_string(n) + ">;\n"; };
        return ".version 7.0\n.target sm_80\n.address_size 64\n" + variables +
               ".visible .entry kernel(.param .u64 p0, .param .u64 p1, .param .u64 p2)\n{\n"
               "    .reg .pred %p<2>;\n    .reg .b32 %r" +
               count(r_) + "    .reg .b64 %rd" + count(rd_) + "    .reg .f32 %f" + count(f_) +
               code_ + "    ret;\n}\n";
    }

private:
    std::string code_;
    uint32_t r_ = 0, rd_ = 0, f_ = 0;
};

struct Text {
    std::string ptx;
    uint32_t bm, bn, threads;
    uint64_t shared_bytes;
};

// A thread computes one element, whose row or column its neighbours share.
Text one_element(bool neighbours_share_row) {
    constexpr uint32_t tile = 32, unrolled = 4;
    Writer w;
    const uint32_t t = w.thread();
    const uint32_t high = w.quotient(t, tile), low = w.remainder(t, tile);
    const uint32_t row = neighbours_share_row ? high : low, column = row == high ? low : high;
    const uint32_t a = w.address(0, w.times(row, depth)), b = w.address(1, column);
    const uint32_t sum = w.zeros(1)[0];
    const uint32_t left = w.begin_loop(depth / unrolled);
    for (uint32_t k = 0; k < unrolled; k++) {
        const uint32_t x = w.f(), y = w.f();
        w.line("ld.global.f32 %%f%u, [%%rd%u+%u];", x, a, k * word);
        w.line("ld.global.f32 %%f%u, [%%rd%u+%u];", y, b, k * tile * word);
        w.line("fma.rn.f32 %%f%u, %%f%u, %%f%u, %%f%u;", sum, x, y, sum);
    }
    w.line("add.s64 %%rd%u, %%rd%u, %u;", a, a, unrolled * word);
    w.line("add.s64 %%rd%u, %%rd%u, %u;", b, b, unrolled * tile * word);
    w.end_loop(left);
    w.line("st.global.f32 [%%rd%u], %%f%u;", w.address(2, w.combined(row, tile, column)), sum);
    return {w.text(0), tile, tile, tile * tile, 0};
}

// The same through tiles of 32 x 32 in shared memory.
Text one_element_of_a_tile() {
    constexpr uint32_t tile = 32, bytes = tile * tile * word;
    Writer w;
    const uint32_t t = w.thread();
    const uint32_t row = w.quotient(t, tile), column = w.remainder(t, tile);
    const uint32_t a = w.address(0, w.combined(row, depth, column)), b = w.address(1, t);
    const uint32_t own = w.times(t, word);  // where this thread stores its element of each tile
    const uint32_t row_of_a = w.times(row, tile * word), column_of_b = w.times(column, word);
    const uint32_t sum = w.zeros(1)[0];
    const uint32_t left = w.begin_loop(depth / tile);
    const uint32_t x = w.f(), y = w.f();
    w.line("ld.global.f32 %%f%u, [%%rd%u];", x, a);
    w.line("ld.global.f32 %%f%u, [%%rd%u];", y, b);
    w.line("st.shared.f32 [%%r%u], %%f%u;", own, x);
    w.line("st.shared.f32 [%%r%u+%u], %%f%u;", own, bytes, y);
    w.line("bar.sync 0;");
    w.line("add.s64 %%rd%u, %%rd%u, %u;", a, a, tile * word);
    w.line("add.s64 %%rd%u, %%rd%u, %u;", b, b, bytes);
    for (uint32_t k = 0; k < tile; k++) {
        const uint32_t p = w.f(), q = w.f();
        w.line("ld.shared.f32 %%f%u, [%%r%u+%u];", p, row_of_a, k * word);
        w.line("ld.shared.f32 %%f%u, [%%r%u+%u];", q, column_of_b, bytes + k * tile * word);
        w.line("fma.rn.f32 %%f%u, %%f%u, %%f%u, %%f%u;", sum, p, q, sum);
    }
    w.line("bar.sync 0;");
    w.end_loop(left);
    w.line("st.global.f32 [%%rd%u], %%f%u;", w.address(2, t), sum);
    return {w.text(2 * bytes), tile, tile, tile * tile, 2 * bytes};
}

// A thread computes tm x tn elements in registers.
class TiledProduct {
public:
    explicit TiledProduct(const Tiles &tiles) : s_(tiles) {}

    Text text() {
        place_thread();
        prepare_loads();
        sums_ = w_.zeros(parts_m() * s_.parts_n * s_.tm * s_.tn);
        const uint32_t left = w_.begin_loop(depth / s_.bk);
        load_tiles();
        w_.line("bar.sync 0;");
        multiply();
        w_.line("bar.sync 0;");
        w_.end_loop(left);
        store();
        const uint64_t bytes = bytes_of_a() + uint64_t(s_.bk) * pitch_of_b() * word;
        return {w_.text(bytes), s_.bm, s_.bn, s_.threads, bytes};
    }

private:
    uint32_t parts_m() const {
        return s_.wm == 0 ? 1 : s_.wm * s_.wn / (32 * s_.tm * s_.tn * s_.parts_n);
    }
    uint32_t bytes_of_a() const { return s_.bm * s_.bk * word; }
    uint32_t pitch_of_b() const { return s_.bn + (s_.panel == Panel::padded ? 5 : 0); }
    uint32_t rows_of_part() const { return s_.wm == 0 ? s_.bm : s_.wm / parts_m(); }
    uint32_t columns_of_part() const { return s_.wm == 0 ? s_.bn : s_.wn / s_.parts_n; }

    // Computes the first row and column of this thread's elements.
    void place_thread() {
        thread_ = w_.thread();
        const uint32_t across = columns_of_part() / s_.tn;
        if (s_.wm == 0) {
            row_ = w_.times(w_.quotient(thread_, across), s_.tm);
            column_ = w_.remainder(thread_, across);
        } else {
            const uint32_t warp = w_.quotient(thread_, 32), lane = w_.remainder(thread_, 32);
            const uint32_t warps_across = s_.bn / s_.wn;
            const uint32_t first_row = w_.times(w_.quotient(warp, warps_across), s_.wm);
            warp_column_ = w_.times(w_.remainder(warp, warps_across), s_.wn);
            row_ = w_.combined(w_.quotient(lane, across), s_.tm, first_row);
            column_ = w_.remainder(lane, across);
        }
    }
    // The loads of the tiles: elements of a row, or 4 of them, by neighbours.
    void prepare_loads() {
        const uint32_t width = s_.wide ? 4 : 1;
        a_row_ = w_.quotient(thread_, s_.bk / width);
        a_column_ = w_.times(w_.remainder(thread_, s_.bk / width), width);
        b_row_ = w_.quotient(thread_, s_.bn / width);
        b_column_ = w_.times(w_.remainder(thread_, s_.bn / width), width);
        a_ = w_.address(0, w_.combined(a_row_, depth, a_column_));
        b_ = w_.address(1, w_.combined(b_row_, s_.bn, b_column_));
        a_to_ = w_.times(s_.wide ? w_.combined(a_column_, s_.bm, a_row_)
                                 : w_.combined(a_row_, s_.bk, a_column_),
                         word);
        b_to_ = s_.panel == Panel::linear
                    ? linear_place()
                    : w_.times(w_.combined(b_row_, pitch_of_b(), b_column_), word);
        a_from_ = w_.times(s_.wide ? row_ : w_.times(row_, s_.bk), word);
        const uint32_t first = s_.panel == Panel::linear ? column_ : w_.times(column_, s_.tn);
        uint32_t from = first;
        if (s_.wm != 0) {
            from = w_.r();
            w_.line("add.u32 %%r%u, %%r%u, %%r%u;", from, first, warp_column_);
        }
        b_from_ = w_.times(from, word);
    }
    // Element c of a row stands at (c % tn) * (bn / tn) + c / tn.
    uint32_t linear_place() {
        const uint32_t within = w_.times(w_.remainder(b_column_, s_.tn), s_.bn / s_.tn);
        const uint32_t at = w_.combined(b_row_, s_.bn, within);
        const uint32_t sum = w_.r();
        w_.line("add.u32 %%r%u, %%r%u, %%r%u;", sum, at, w_.quotient(b_column_, s_.tn));
        return w_.times(sum, word);
    }

    void load_tiles() {
        const uint32_t width = s_.wide ? 4 : 1;
        const uint32_t a_rows = s_.threads * width / s_.bk, b_rows = s_.threads * width / s_.bn;
        for (uint32_t row = 0; row < s_.bm; row += a_rows) {
            const auto values = load(a_, row * depth);
            for (uint32_t k = 0; k < width; k++)
                store_word(a_to_, s_.wide ? k * s_.bm + row : row * s_.bk, values[k]);
        }
        for (uint32_t row = 0; row < s_.bk; row += b_rows) {
            const auto values = load(b_, row * s_.bn);
            const uint32_t to = bytes_of_a() / word + row * pitch_of_b();
            if (s_.wide && s_.panel == Panel::rows) {
                w_.line("st.shared.v4.f32 [%%r%u+%u], {%%f%u, %%f%u, %%f%u, %%f%u};", b_to_,
                        to * word, values[0], values[1], values[2], values[3]);
                continue;
            }
            const uint32_t apart = s_.panel == Panel::linear ? s_.bn / s_.tn : 1;
            for (uint32_t k = 0; k < width; k++)
                store_word(b_to_, to + k * apart, values[k]);
        }
        w_.line("add.s64 %%rd%u, %%rd%u, %u;", a_, a_, s_.bk * word);
        w_.line("add.s64 %%rd%u, %%rd%u, %u;", b_, b_, s_.bk * s_.bn * word);
    }
    std::vector<uint32_t> load(uint32_t from, uint32_t offset) {
        std::vector<uint32_t> to = {w_.f()};
        if (!s_.wide) {
            w_.line("ld.global.f32 %%f%u, [%%rd%u+%u];", to[0], from, offset * word);
            return to;
        }
        to.insert(to.end(), {w_.f(), w_.f(), w_.f()});
        w_.line("ld.global.v4.f32 {%%f%u, %%f%u, %%f%u, %%f%u}, [%%rd%u+%u];", to[0], to[1], to[2],
                to[3], from, offset * word);
        return to;
    }
    void store_word(uint32_t base, uint32_t offset, uint32_t value) {
        w_.line("st.shared.f32 [%%r%u+%u], %%f%u;", base, offset * word, value);
    }

    void multiply() {
        for (uint32_t k = 0; k < s_.bk; k++) {
            std::vector<uint32_t> a, b;
            for (uint32_t part = 0; part < parts_m(); part++)
                append(a, elements_of_a(k, part));
            for (uint32_t part = 0; part < s_.parts_n; part++)
                append(b, elements_of_b(k, part));
            size_t sum = 0;
            for (const uint32_t x : a) {
                for (const uint32_t y : b) {
                    w_.line("fma.rn.f32 %%f%u, %%f%u, %%f%u, %%f%u;", sums_[sum], x, y, sums_[sum]);
                    sum++;
                }
            }
        }
    }
    static void append(std::vector<uint32_t> &all, const std::vector<uint32_t> &more) {
        all.insert(all.end(), more.begin(), more.end());
    }
    // Returns the registers of the thread's elements of a for one term.
    std::vector<uint32_t> elements_of_a(uint32_t k, uint32_t part) {
        if (s_.wide) return words(a_from_, k * s_.bm + part * rows_of_part(), s_.tm, 4);
        if (s_.tn == 1) return column_by_fours(k);
        std::vector<uint32_t> all;
        for (uint32_t i = 0; i < s_.tm; i++)
            append(all, words(a_from_, i * s_.bk + k, 1, 1));
        return all;
    }
    // Loads four terms of each row at once.
    std::vector<uint32_t> column_by_fours(uint32_t k) {
        if (k % 4 == 0) {
            fours_.clear();
            for (uint32_t i = 0; i < s_.tm; i++)
                fours_.push_back(words(a_from_, i * s_.bk + k, 4, 4));
        }
        std::vector<uint32_t> all;
        for (const auto &four : fours_)
            all.push_back(four[k % 4]);
        return all;
    }
    std::vector<uint32_t> elements_of_b(uint32_t k, uint32_t part) {
        const uint32_t row = bytes_of_a() / word + k * pitch_of_b();
        if (s_.panel == Panel::rows)
            return words(b_from_, row + part * columns_of_part(), s_.tn, std::min(4U, s_.tn));
        std::vector<uint32_t> all;
        for (uint32_t i = 0; i < s_.tn; i++)
            append(all,
                   words(b_from_, row + i * (s_.panel == Panel::linear ? s_.bn / s_.tn : 1), 1, 1));
        return all;
    }
    // Loads `count` words of shared memory, `width` (1 or 4) at a time.
    std::vector<uint32_t> words(uint32_t base, uint32_t offset, uint32_t count, uint32_t width) {
        std::vector<uint32_t> all;
        for (uint32_t k = 0; k < count; k += width) {
            const size_t first = all.size();
            for (uint32_t i = 0; i < width; i++)
                all.push_back(w_.f());
            if (width == 1)
                w_.line("ld.shared.f32 %%f%u, [%%r%u+%u];", all[first], base, (offset + k) * word);
            else
                w_.line("ld.shared.v4.f32 {%%f%u, %%f%u, %%f%u, %%f%u}, [%%r%u+%u];", all[first],
                        all[first + 1], all[first + 2], all[first + 3], base, (offset + k) * word);
        }
        return all;
    }

    void store() {
        const uint32_t first = s_.wm == 0 ? w_.times(column_, s_.tn)
                                          : w_.combined(column_, s_.tn, warp_column_);
        const uint32_t c = w_.address(2, w_.combined(row_, s_.bn, first));
        size_t sum = 0;
        for (uint32_t pm = 0; pm < parts_m(); pm++) {
            for (uint32_t i = 0; i < s_.tm; i++) {
                for (uint32_t pn = 0; pn < s_.parts_n; pn++) {
                    for (uint32_t j = 0; j < s_.tn; j++) {
                        const uint32_t offset = (pm * rows_of_part() + i) * s_.bn +
                                                pn * columns_of_part() + j;
                        w_.line("st.global.f32 [%%rd%u+%u], %%f%u;", c, offset * word,
                                sums_[sum++]);
                    }
                }
            }
        }
    }

    const Tiles s_;
    Writer w_;
    uint32_t thread_ = 0, row_ = 0, column_ = 0, warp_column_ = 0;
    uint32_t a_row_ = 0, a_column_ = 0, b_row_ = 0, b_column_ = 0;
    uint32_t a_ = 0, b_ = 0, a_to_ = 0, b_to_ = 0, a_from_ = 0, b_from_ = 0;
    std::vector<uint32_t> sums_;
    std::vector<std::vector<uint32_t>> fours_;
};

Text text_of_product(size_t which) {
    switch (which) {
    case 0: return one_element(false);
    case 1: return one_element(true);
    case 2: return one_element_of_a_tile();
    case 3: return TiledProduct({64, 64, 8, 8, 1, 512}).text();
    case 4: return TiledProduct({128, 128, 8, 8, 8, 256}).text();
    case 5: return TiledProduct({128, 128, 8, 8, 8, 256, true, Panel::linear}).text();
    case 6: return TiledProduct({128, 128, 8, 8, 8, 256, true, Panel::padded}).text();
    case 7: return TiledProduct({128, 256, 16, 8, 8, 256, true, Panel::rows, 128, 32, 1}).text();
    case 8: return TiledProduct({128, 128, 8, 8, 8, 256, true}).text();
    case 9: return TiledProduct({128, 128, 16, 8, 8, 256, true}).text();
    default: return TiledProduct({128, 128, 16, 8, 4, 128, true, Panel::rows, 64, 64, 4}).text();
    }
}

// Returns what `factor` blocks do if each does as much.
Counts scaled(Counts one, uint64_t factor) {
    Counts all;
    for (; factor != 0; factor /= 2) {
        if (factor % 2 != 0) all.add(one);
        one.add(Counts(one));
    }
    return all;
}

// Runs one block on integers, so that its sums are exact, and compares them.
Counts run_one_block(const Text &text) {
    KernelRun run(text.ptx);
    run.machine.note_sectors();
    std::vector<float> a(size_t(text.bm) * depth), b(size_t(depth) * text.bn);
    const auto value = [](size_t k, uint32_t factor) { return float(int(k * factor % 7) - 3); };
    for (size_t k = 0; k < a.size(); k++)
        a[k] = value(k, 3);
    for (size_t k = 0; k < b.size(); k++)
        b[k] = value(k, 5);
    run.add(a);
    run.add(b);
    const uint64_t c = run.add_unwritten(uint64_t(text.bm) * text.bn * word);
    for (const Finding &f : run.launch({{1, 1, 1}, {text.threads, 1, 1}}))
        ADD_FAILURE() << text_of(f);
    const std::vector<float> got = run.values<float>(c);
    for (const uint32_t row : {0U, 1U, text.bm - 1}) {
        for (uint32_t column = 0; column < text.bn; column++) {
            float sum = 0;
            for (uint32_t k = 0; k < depth; k++)
                sum += a[size_t(row) * depth + k] * b[size_t(k) * text.bn + column];
            EXPECT_EQ(got[size_t(row) * text.bn + column], sum) << row << ", " << column;
        }
    }
    return run.machine.counts();
}

}  // namespace

const std::vector<PublishedProduct> &published_products() {
    static const std::vector<PublishedProduct> all = {{"an element a thread, rows apart", 309.0},
                                                      {"neighbours read one line", 1986.5},
                                                      {"32 x 32 through shared memory", 2980.3},
                                                      {"8 x 1 in registers", 8474.7},
                                                      {"8 x 8 in registers", 15971.7},
                                                      {"16-byte loads, panel in order", 16213.4},
                                                      {"16-byte loads, panel padded", 16459.2},
                                                      {"warps' tiles, two buffers", 17278.3},
                                                      {"16-byte loads", 18237.3},
                                                      {"the same, 16 terms a step", 19721.0},
                                                      {"warps' tiles", 21779.3}};
    return all;
}

LaunchFacts facts_of_product(size_t which) {
    const Text text = text_of_product(which);
    const uint64_t blocks = uint64_t(whole / text.bm) * (whole / text.bn);
    LaunchFacts facts;
    facts.kernel = published_products()[which].name;
    facts.shape = {{uint32_t(blocks), 1, 1}, {text.threads, 1, 1}};
    facts.counts = scaled(run_one_block(text), blocks * (whole / depth));
    facts.counts.launch_sectors = uint64_t(3) * whole * whole * word / sector_bytes;
    facts.shared_bytes = text.shared_bytes;
    facts.registers = live_registers(parse(text.ptx).entries[0]);
    return facts;
}

}  // namespace halyard::ptx
