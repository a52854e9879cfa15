// Tests programs of random small contractions: sums of products, sums and maxima over any
// dimensions of two tensors of any ranks and layouts. All numbers are so short that every
// sum is exact in f32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "ascend/simulator/simulate.h"
#include "dsl/ascend/compile.h"
#include "dsl/op.h"

namespace halyard::ascend {
namespace {

enum class Kind {
    products,
    products_and_more,  // the larger of each sum and 0, plus 1
    sums,               // of x + w
    largest             // x - w
};

// A contraction: each dimension is a letter, and those that y lacks are reduced. "ab,b->a" is a
// product of a matrix and a vector.
struct Contraction {
    Kind kind = Kind::products;
    std::string x, w, y;                   // dimensions, outermost first
    std::string x_in_memory, w_in_memory;  // the same, in the order of their strides
    std::map<char, int> extents;
    std::string chip = "ascend910";
    bool of_bytes = false;  // x is u8 and w i8, y i32

    std::string reduced() const {
        std::string all;
        for (const auto &[letter, extent] : extents)
            if (y.find(letter) == std::string::npos) all += letter;
        return all;
    }
    std::string text() const {
        std::string s = x + "(" + x_in_memory + ")," + w + "(" + w_in_memory + ")->" + y +
                        " kind " + std::to_string(int(kind));
        for (auto &[letter, extent] : extents)
            s += std::string(" ") + letter + "=" + std::to_string(extent);
        return s + " " + chip + (of_bytes ? " of bytes" : "");
    }
};

std::string signature_of(const Contraction &c) {
    const auto dimensions = [](const std::string &letters) {
        std::string s;
        for (const char letter : letters)
            s += (s.empty() ? "" : ",") + std::string(1, letter);
        return "[" + s + "]";
    };
    if (c.of_bytes) {
        return "x:u8" + dimensions(c.x) + " w:i8" + dimensions(c.w) + " -> y:i32" + dimensions(c.y);
    }
    return "x" + dimensions(c.x) + " w" + dimensions(c.w) + " -> y" + dimensions(c.y);
}

struct ContractionOp : Op {
    const Contraction c;
    explicit ContractionOp(const Contraction &from)
        : Op("contraction", signature_of(from)), c(from) {
        if (from.of_bytes)
            dtypes = {"i32"};
        else
            dtypes = {"f32", "f16", "i32"};
        any_strides = true;
    }
    Func x = input("x"), w = input("w");
    Func y = output("y");
    Func all{"all"};

    void algorithm() override {
        Halide::Region ranges;
        const std::string reduced = c.reduced();
        for (const char letter : reduced)
            ranges.emplace_back(0, size(std::string(1, letter)));
        const RDom r(ranges);
        std::map<char, Expr> index;
        for (size_t k = 0; k < reduced.size(); k++)
            index[reduced[k]] = r[int(k)];
        std::vector<Var> vars;
        for (const char letter : c.y) {
            vars.insert(vars.begin(), Var(std::string(1, letter)));
            index[letter] = vars[0];
        }
        const auto element = [&](const Func &f, const std::string &letters) -> Expr {
            std::vector<Expr> at;
            for (const char letter : letters)
                at.insert(at.begin(), index.at(letter));
            return c.of_bytes ? Halide::cast<int32_t>(f(at)) : f(at);
        };
        const Expr first = element(x, c.x);
        const Expr second = element(w, c.w);
        const Expr zero = c.of_bytes ? Expr(0) : 0_r;
        const Expr one = c.of_bytes ? Expr(1) : 1_r;
        if (c.kind == Kind::largest) {
            all(vars) = -1000 * one;
            all(vars) = max(all(vars), first - second);
        } else
            all(vars) += c.kind == Kind::sums ? first + second : first * second;
        y(vars) = c.kind == Kind::products_and_more ? max(all(vars), zero) + one : all(vars);
    }
    void reference(Problem &) const override {}
};

FixedCall::Layout layout(const Contraction &c, const std::string &letters,
                         const std::string &in_memory) {
    std::map<char, int> strides;
    int next = 1;
    for (size_t k = in_memory.size(); k-- > 0; next *= c.extents.at(in_memory[k]))
        strides[in_memory[k]] = next;
    FixedCall::Layout all;
    for (size_t k = letters.size(); k-- > 0;)
        all.push_back({c.extents.at(letters[k]), strides.at(letters[k])});
    return all;
}

// Returns a quarter from -1 to 1, or four times as much if the dtype has no fractions, and 200 more
// if it has no negative numbers.
double value_at(DType t, size_t tensor, int64_t at) {
    const double whole = double((at * 7 + at / 5 * 3 + int64_t(tensor) * 11) % 9 - 4);
    return is_float(t) ? whole / 4 : t == DType::u8 ? whole + 200 : whole;
}

void put(std::vector<uint8_t> &memory, DType t, int64_t at, double value) {
    if (t == DType::f16) {
        const float16 half(static_cast<float>(value));
        std::memcpy(&memory[size_t(at) * 2], &half, 2);
    } else if (bytes_of(t) == 1) {
        memory[size_t(at)] = uint8_t(int(value));
    } else if (t == DType::i32) {
        const int32_t whole = int32_t(value);
        std::memcpy(&memory[size_t(at) * 4], &whole, 4);
    } else {
        const float real = float(value);
        std::memcpy(&memory[size_t(at) * 4], &real, 4);
    }
}
double get(const std::vector<uint8_t> &memory, DType t, int64_t at) {
    if (t == DType::f16) {
        float16 half;
        std::memcpy(&half, &memory[size_t(at) * 2], 2);
        return float(half);
    }
    if (t == DType::i32) {
        int32_t whole;
        std::memcpy(&whole, &memory[size_t(at) * 4], 4);
        return whole;
    }
    float real;
    std::memcpy(&real, &memory[size_t(at) * 4], 4);
    return real;
}

// The results in double, dense.
std::vector<double> results_of(const Contraction &c, DType of_x, DType of_w) {
    const auto offset = [&](const std::map<char, int> &index, const std::string &in_memory) {
        int64_t at = 0;
        for (const char letter : in_memory)
            at = at * c.extents.at(letter) + index.at(letter);
        return at;
    };
    int64_t outputs = 1;
    for (const char letter : c.y)
        outputs *= c.extents.at(letter);
    std::vector<double> y(size_t(outputs), c.kind == Kind::largest ? -1000 : 0);
    std::map<char, int> index;
    for (auto &[letter, extent] : c.extents)
        index[letter] = 0;
    for (bool more = true; more;) {
        const double a = value_at(of_x, 0, offset(index, c.x_in_memory));
        const double b = value_at(of_w, 1, offset(index, c.w_in_memory));
        double &into = y[size_t(offset(index, c.y))];
        into = c.kind == Kind::largest ? std::max(into, a - b)
               : c.kind == Kind::sums  ? into + a + b
                                       : into + a * b;
        more = false;
        for (auto &[letter, value] : index) {
            if (++value < c.extents.at(letter)) {
                more = true;
                break;
            }
            value = 0;
        }
    }
    if (c.kind == Kind::products_and_more) {
        for (double &v : y)
            v = std::max(v, 0.0) + 1;
    }
    return y;
}

std::shared_ptr<FixedCall> call_of(const Contraction &c) {
    auto call = std::make_shared<FixedCall>();
    call->inputs = {layout(c, c.x, c.x_in_memory), layout(c, c.w, c.w_in_memory)};
    call->outputs = {layout(c, c.y, c.y)};
    call->chip = c.chip;
    return call;
}

Compiled compiled_for(const Contraction &c, const std::string &dtypes) {
    Instance instance;
    instance.backend = "ascend";
    instance.dtypes = dtypes;
    instance.call = call_of(c);
    OpTable ops;
    ops.add<ContractionOp>(c);
    return compile(ops, "contraction", instance);
}

// Compiles and simulates the contraction, and returns how its result is wrong.
std::string error_of(const Contraction &c, const std::string &dtypes) {
    const Compiled compiled = compiled_for(c, dtypes);
    const std::shared_ptr<FixedCall> call = call_of(c);
    const auto &tensors = compiled.lowered.programs[0].tensors;
    std::vector<std::vector<uint8_t>> memory;
    std::vector<dv::Binding> gm;
    for (auto &t : tensors)
        memory.emplace_back(size_t(*t.size.constant()) * bytes_of(t.dtype));
    for (auto &m : memory)
        gm.push_back({m.data(), int64_t(m.size())});
    for (size_t t = 0; t < 2; t++) {
        const int64_t elements = elements_spanned(call->inputs[t]);
        for (int64_t i = 0; i < elements; i++)
            put(memory[t], tensors[t].dtype, i, value_at(tensors[t].dtype, t, i));
    }
    dv::SimOptions options;
    options.timing = options.races = true;
    for (auto &program : compiled.lowered.programs) {
        const dv::SimResult result = dv::simulate(program, gm, {}, options);
        if (!result.ok()) return dv::to_text(result.issues);
    }
    const std::vector<double> want = results_of(c, tensors[0].dtype, tensors[1].dtype);
    for (size_t i = 0; i < want.size(); i++) {
        const double got = get(memory[2], tensors[2].dtype, int64_t(i));
        const double wanted = dtypes == "f16" ? double(float(float16(float(want[i])))) : want[i];
        if (got != wanted) {
            return "y[" + std::to_string(i) + "] is " + std::to_string(got) + ", expected " +
                   std::to_string(wanted);
        }
    }
    return "";
}

class Generator {
public:
    explicit Generator(unsigned seed) : rng_(seed) {}

    Contraction next() {
        Contraction c;
        c.kind = Kind(rng_() % 4);
        while (c.y.empty() || c.x.empty() || c.w.empty() || c.reduced().empty())
            draw_dimensions(c);
        for (std::string *letters : {&c.x, &c.w, &c.y})
            std::shuffle(letters->begin(), letters->end(), rng_);
        if (rng_() % 2) c.chip = "ascend310";  // with few cores, whose loops are longer
        c.x_in_memory = in_memory(c.x);
        c.w_in_memory = in_memory(c.w);
        return c;
    }

private:
    void draw_dimensions(Contraction &c) {
        static const int sizes[] = {1, 2, 3, 5, 8, 15, 16, 17, 33, 40, 64, 70};
        c.x.clear();
        c.w.clear();
        c.y.clear();
        c.extents.clear();
        int64_t terms = 1;
        for (const char letter : std::string("abcd").substr(0, 2 + rng_() % 3)) {
            const unsigned where = 1 + rng_() % 3;
            if (where & 1) c.x += letter;
            if (where & 2) c.w += letter;
            if (rng_() % 2) c.y += letter;
            int size = 0;
            do
                size = sizes[rng_() % std::size(sizes)];
            while (terms * size > 50'000);
            c.extents[letter] = size;
            terms *= size;
        }
    }
    std::string in_memory(std::string letters) {
        if (rng_() % 3 == 0) std::shuffle(letters.begin(), letters.end(), rng_);
        return letters;
    }
    std::mt19937 rng_;
};

class Contractions : public testing::TestWithParam<const char *> {};

TEST_P(Contractions, OfRandomDimensionsAreExact) {
    Generator generator(1);
    const bool of_bytes = GetParam() == std::string("bytes");
    for (int i = 0; i < 100; i++) {
        Contraction c = generator.next();
        c.of_bytes = of_bytes;
        try {
            EXPECT_EQ(error_of(c, of_bytes ? "i32" : GetParam()), "") << i << ": " << c.text();
        } catch (const Error &e) {
            ADD_FAILURE() << i << ": " << c.text() << ": " << e.what();
        }
    }
}
INSTANTIATE_TEST_SUITE_P(All, Contractions, testing::Values("f32", "f16", "i32", "bytes"),
                         [](const auto &p) { return std::string(p.param); });

// One element of GM at a time would take more than a thousand times as long.
TEST(Contractions, ProductsOfBytesNeedNoScalarUnit) {
    Contraction c{
        Kind::products, "mk", "kn", "mn", "mk", "kn", {{'m', 126}, {'k', 24}, {'n', 256}}};
    c.of_bytes = true;
    for (const char *chip : {"ascend910", "ascend310", "ascend910b"}) {
        c.chip = chip;
        EXPECT_THAT(compiled_for(c, "i32").lowered.warnings, testing::IsEmpty()) << chip;
    }
}

// A product of a matrix and a vector, of all sizes around fractals.
TEST(Contractions, ProductsWithAVectorAreExact) {
    for (const int rows : {1, 3, 15, 16, 17, 70, 300}) {
        for (const int terms : {1, 7, 16, 33, 300}) {
            Contraction c{Kind::products, "nc", "c", "n", "nc", "c", {{'n', rows}, {'c', terms}}};
            EXPECT_EQ(error_of(c, "f16"), "") << c.text();
            std::swap(c.x, c.w);
            std::swap(c.x_in_memory, c.w_in_memory);
            EXPECT_EQ(error_of(c, "f16"), "") << c.text();
        }
    }
}

}  // namespace
}  // namespace halyard::ascend
