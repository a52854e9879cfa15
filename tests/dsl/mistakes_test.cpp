// What authors get wrong is said with the line of their file and what would be legal, in a build and by the command.
#include <nlohmann/json.hpp>
#include <regex>

#include "dsl/op.h"
#include "tests/tools/command.h"

namespace halyard {
namespace {

struct Mistake {
    const char *op, *message;
};
const std::vector<Mistake> mistakes = {
    {"no_such_loop",
     "e.compute_at(y, c): y has no loop c where e is used; legal are compute_root(), compute_at(y, n), compute_at(y, vec), compute_at(y, lane)"},
    {"used_elsewhere", "e.compute_at(y, n): that loop isn't around every use of e, by total and y; legal are compute_root()"},
    {"stored_inside", "total.store_at(y, c): total is computed in a loop around that one, compute_at(y, n); legal are store_root(), store_at(y, n)"},
    {"racing_sum",
     "total.update(0).parallel(k.x): several iterations of k.x write the same element; legal are the pure loops n, or rfactor() the reduction first, or "
     "atomic()"},
    {"any_extent", "y.vectorize(c): how long loop c is isn't known when this is compiled; give a factor: .vectorize(c, 8), or bound_extent(c, ...)"},
    {"no_such_var", "y.vectorize(lane, 8): y has no loop lane here; its loops are, innermost first, c, n"},
    {"inlined", "e.vectorize(c, 8): e has no loops of its own: it is computed inline, where it is used; compute_at() or compute_root() gives it some"},
    {"two_names", "y.split(c, vec, n, 8): can't create var n using a split or tile, because n is already used in this Func's schedule elsewhere"},
    {"too_few_arguments", "x has 2 dimensions, and 1 arguments here"},
    {"never_defined", "e is read before it is defined; e(...) = ... has to come first"},
    {"no_output", "algorithm() never defines output y"},
    {"updated_output", "output y is updated; reduce into a Func of its own, and copy it to y"},
    {"defined_twice", "n isn't a variable of this definition of e(...); an update has the pure variables of the first definition, each in its place"},
    {"no_such_size", "size(\"q\"): the sizes of x[n,c] -> y[n,c] are c, n"},
    {"rounded_constant", "the constant 0.1f has a float's digits only, also in f64 kernels; 0.1_r has all"},
    {"too_large", "the constant 300 doesn't fit uint8, where it would be 44; cast the other operand to a wider type"},
    {"real_index", "argument 1 of x(...) is a real, and an index has to be an integer; cast<int32_t>(...) makes it one"},
    {"no_condition", "The first argument to a select must be a boolean: (real)x(c, n) has type real"},
    {"half_an_integer", "the constant 0.500000 has no value in integer arithmetic"},
    {"unread_input", "algorithm() never reads input mask"},
    {"not_associative",
     "total.update(0).rfactor(k.x, u): the update isn't known to be associative: its parts can't be combined; sums, products, max, min, && and || are"},
    {"bad_sample", "sample 'n=2 q=5' names q: the dimensions of x[n,c] -> y[n,c] are c, n"},
};

// The error of a mistake, whose line in mistakes.cpp has its mark.
std::string error_of(const Mistake &m) {
    std::ifstream source(HALYARD_SOURCE_DIR "/tests/dsl/mistakes/mistakes.cpp");
    int number = 1;
    for (std::string line; std::getline(source, line); number++)
        if (line.ends_with(std::string("// <- ") + m.op))
            return std::string("[") + m.op + "] mistakes/mistakes.cpp:" + std::to_string(number) + ": " + m.message;
    return std::string("mistakes.cpp has no line marked ") + m.op;
}

class Mistakes : public Command {};

TEST_F(Mistakes, AreExplainedInABuild) {
    const std::string run = std::string("'" HALYARD_GEN_MISTAKES "' --isas baseline --name mistakes --out '") + dir.string() + "' 2>'" + dir.string() +
                            "/said'";
    EXPECT_NE(std::system(run.c_str()), 0);
    const std::string said = text_of(dir / "said");
    for (auto &m : mistakes) EXPECT_NE(said.find(error_of(m) + "\n"), std::string::npos) << error_of(m) << "\nwas said as\n" << said;
    EXPECT_FALSE(std::regex_search(said, std::regex(R"(\$|Error|\.s\d|Halide|\.h:)"))) << said;
}

TEST_F(Mistakes, AreExplainedByTheCommand) {
    for (auto &m : mistakes)
        if (m.op != std::string("bad_sample")) expect_refused(std::string("lower --to llvm --kernels " HALYARD_MISTAKES " ") + m.op, error_of(m) + "\n");
}

struct NoSignature : Op {
    NoSignature() : Op("no_signature", "x[n,c -> y[n,c]") {}
    void reference(Problem &) const override {}
};

TEST(Ops, NameTheLineOfASignatureThatDoesNotParse) {
    OpTable ops;
    try {
        ops.add<NoSignature>();
        FAIL() << "it parsed";
    } catch (const Error &e) { EXPECT_TRUE(std::regex_search(e.what(), std::regex(R"(^\[no_signature\] dsl/mistakes_test\.cpp:\d+: [^\[])"))) << e.what(); }
}

TEST_F(Mistakes, OfTheCodeGeneratorTakeNothingDown) {  // LLVM exits at once
    const std::string environment = "XDG_CACHE_HOME='" + dir.string() + "' HL_LLVM_ARGS=-no-such-option";
    expect_refused("profile softmax --shape \"n=2 c=3\" --time 0.01", "[softmax] the code generator died (exit ", environment);
    expect_refused("ablate softmax --shape \"n=2 c=3\"", "[softmax] the code generator died (exit ", environment);
    EXPECT_TRUE(fs::is_empty(dir / "halyard/kernels")) << "half an object is in the cache";
}

TEST_F(Mistakes, AblateFindsTheDirectiveThatDoesNothing) {
    if (host_isa() == Isa::baseline) GTEST_SKIP() << "LLVM vectorizes loops of 4 by itself";
    const Result r = halyard("ablate planted --kernels " HALYARD_MISTAKES " --threads 1 --time 0.05 --rounds 9");
    ASSERT_EQ(r.status, 0) << r.err;
    auto line_with = [&](const std::string &call) {
        const size_t at = r.out.find(call), begin = r.out.rfind('\n', at);
        return at == std::string::npos ? "" : r.out.substr(begin + 1, r.out.find('\n', at) - begin - 1);
    };
    const std::string first = "compile\n", vectorize = line_with("y.vectorize(lane)"), planted = line_with("y.reorder(c, n)");
    EXPECT_NE(r.out.find(first + vectorize), std::string::npos) << "vectorize isn't first:\n" << r.out;
    EXPECT_GT(std::atof(vectorize.c_str()), 1.5) << r.out;
    EXPECT_NE(vectorize.find("mistakes/planted.cpp:22 "), std::string::npos) << r.out;
    EXPECT_NE(planted.find("noise"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("needed: mistakes/planted.cpp:22: y.vectorize(lane): y has no loop lane here"), std::string::npos) << r.out;
}

TEST_F(Mistakes, ProfileWritesATimeline) {
    const Result r = halyard("profile softmax_dx --shape \"n=8 c=300\" --variant wide --time 0.05 --threads 2 --trace t.json");
    ASSERT_EQ(r.status, 0) << r.err;
    const auto events = nlohmann::json::parse(text_of(dir / "t.json")).at("traceEvents");
    std::map<int, std::vector<std::pair<double, double>>> open;  // by thread: what the slice lies in
    std::map<std::string, int> stages;
    for (auto &e : events) {
        ASSERT_EQ(e.at("pid"), 1);
        const int thread = e.at("tid");
        if (e.at("ph") == "M") continue;
        ASSERT_EQ(e.at("ph"), "X");
        const double begin = e.at("ts"), end = begin + e.at("dur").get<double>(), rounding = 1e-6;
        ASSERT_GE(begin, 0);
        ASSERT_GE(end, begin);
        auto &around = open[thread];
        while (!around.empty() && around.back().second <= begin + rounding) around.pop_back();
        ASSERT_LE(end, around.empty() ? end : around.back().second + rounding) << "slices overlap: " << e;
        around.push_back({begin, end});
        stages[e.at("name")]++;
    }
    EXPECT_EQ(stages["dx"], 1);
    EXPECT_EQ(stages["dot"], 8) << "once per row";
    expect_refused("profile softmax --shape \"n=8 c=300\" --time 0.01 --trace none/t.json", "[none/t.json] can't be written");
}

}  // namespace
}  // namespace halyard
