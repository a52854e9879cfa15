// Tests that an author's mistake is reported with the line in the author's file and the legal
// alternatives, in a build and by the command.
#include <nlohmann/json.hpp>
#include <regex>

#include "dsl/op.h"
#include "dsl/reference_location.h"
#include "registry/op/author_location.h"
#include "tests/tools/command.h"

namespace halyard {
namespace {

struct Mistake {
    const char *op, *message;
    bool of_record = false;  // Only a build checks it.
};
const std::vector<Mistake> mistakes = {
    {"no_such_loop", "e.compute_at(y, c): y has no loop c where e is used; legal are "
                     "compute_root(), compute_at(y, n), compute_at(y, vec), compute_at(y, lane)"},
    {"used_elsewhere", "e.compute_at(y, n): that loop isn't around every use of e, by total and y; "
                       "legal are compute_root()"},
    {"stored_inside", "total.store_at(y, c): total is computed in a loop around that one, "
                      "compute_at(y, n); legal are store_root(), store_at(y, n)"},
    {"racing_sum", "total.update(0).parallel(k.x): several iterations of k.x write the same "
                   "element; legal are the pure loops n, or rfactor() the reduction first, or "
                   "atomic()"},
    {"any_extent", "y.vectorize(c): the extent of loop c isn't known when this is compiled; give a "
                   "factor: .vectorize(c, 8), or bound_extent(c, ...)"},
    {"no_such_var",
     "y.vectorize(lane, 8): y has no loop lane here; its loops are, innermost first, c, n"},
    {"inlined", "e.vectorize(c, 8): e has no loops of its own: it is computed inline, where it is "
                "used; compute_at() or compute_root() gives it some"},
    {"two_names", "y.split(c, vec, n, 8): can't create var n using a split or tile, because n is "
                  "already used in this Func's schedule elsewhere"},
    {"too_few_arguments", "x has 2 dimensions, and 1 arguments here"},
    {"never_defined", "e is read before it is defined; e(...) = ... has to come first"},
    {"no_output", "algorithm() never defines output y"},
    {"updated_output", "output y is updated; reduce into a Func of its own, and copy it to y"},
    {"defined_twice", "n isn't a variable of this definition of e(...); an update has the pure "
                      "variables of the first definition, each in its place"},
    {"no_such_size", "size(\"q\"): the sizes of x[n,c] -> y[n,c] are c, n"},
    {"rounded_constant",
     "the constant 0.1f has a float's digits only, also in f64 kernels; 0.1_r has all"},
    {"too_large", "the constant 300 doesn't fit uint8, where it would be 44; cast the other "
                  "operand to a wider type"},
    {"real_index", "argument 1 of x(...) is a real, and an index has to be an integer; "
                   "cast<int32_t>(...) makes it one"},
    {"no_condition",
     "The first argument to a select must be a boolean: (real)x(c, n) has type real"},
    {"half_an_integer", "the constant 0.500000 has no value in integer arithmetic"},
    {"unread_input", "algorithm() never reads input mask"},
    {"not_associative",
     "total.update(0).rfactor(k.x, u): the update isn't known to be associative: its parts can't "
     "be combined; sums, products, max, min, && and || are"},
    {"bad_sample", "sample 'n=2 q=5' names q: the dimensions of x[n,c] -> y[n,c] are c, n", true},
    {"variant_of_two", "two variants are called 'every'", true},
    {"last_has_a_condition",
     "the last variant for GPUs, 'columns', has a condition, n>8: no kernel would take the other "
     "calls",
     true},
    {"typo_in_variant",
     "variant direct: its condition 'n>=2*lane' names lane, which is none of c, lanes, n, x_s0, "
     "x_s1, y_s0",
     true},
    {"typo_in_condition", "condition 'columns>0' names columns, which is none of c, n", true},
    {"typo_in_let", "let half 'q/2' names q, which is none of c, half, n", true},
    {"unread_scalar", "algorithm() never reads scalar alpha, and no expression names it", true},
    {"divided_dz",
     "would be the gradient of divided in its input z: the inputs of x[n,c] -> y[n,c] are x", true},
    {"place_from_itself", "the index that an update of a Tuple writes depends on the Tuple, which "
                          "would change between its components; give each component a "
                          "Func of its own"},
};

// Returns the error of a mistake; its line in mistakes.cpp has the op's name in a comment.
std::string error_of(const Mistake &m) {
    std::ifstream source(HALYARD_SOURCE_DIR "/tests/dsl/scenarios/mistakes/mistakes.cpp");
    int number = 1;
    for (std::string line; std::getline(source, line); number++) {
        if (line.ends_with(std::string("// <- ") + m.op)) {
            return std::string("[") + m.op + "] mistakes/mistakes.cpp:" + std::to_string(number) +
                   ": " + m.message;
        }
    }
    return std::string("mistakes.cpp has no line marked ") + m.op;
}

class Diagnostics : public Command {};

TEST_F(Diagnostics, BuildExplainsMistakes) {
    const std::string run = std::string("'" HALYARD_GEN_MISTAKES
                                        "' --isas baseline --name mistakes --out '") +
                            dir.string() + "' 2>'" + dir.string() + "/said'";
    EXPECT_NE(std::system(run.c_str()), 0);
    const std::string reported = text_of(dir / "said");
    for (auto &m : mistakes) {
        EXPECT_NE(reported.find(error_of(m) + "\n"), std::string::npos)
            << error_of(m) << "\nwas said as\n"
            << reported;
    }
    EXPECT_FALSE(std::regex_search(reported, std::regex(R"(\$|Error|\.s\d|Halide|\.h:)")))
        << reported;
}

TEST_F(Diagnostics, CommandExplainsMistakes) {
    for (auto &m : mistakes)
        if (!m.of_record)
            expect_rejected(std::string("lower --to llvm --kernels " HALYARD_MISTAKES " ") + m.op,
                            error_of(m) + "\n");
}

struct NoSignature : Op {
    NoSignature() : Op("no_signature", "x[n,c -> y[n,c]") {}
    void reference(Problem &) const override {}
};

TEST(Ops, NameTheLineOfAnInvalidSignature) {
    OpTable ops;
    try {
        ops.add<NoSignature>();
        ops.names();
        FAIL() << "it parsed";
    } catch (const Error &e) {
        EXPECT_TRUE(std::regex_search(
            e.what(),
            std::regex(R"(^\[no_signature\] scenarios/diagnostics_test\.cpp:\d+: [^\[])")))
            << e.what();
    }
}

// An op finds its tensors by name, in whatever order it declares them.
struct Declared : Op {
    explicit Declared(const char *misnamed = nullptr) : Op("declared", "a[n] b[n] -> c[n]") {
        if (misnamed) input(misnamed);
    }
    Func b = input("b"), a = input("a");
    Func c = output("c");
    void reference(Problem &) const override {}
};

TEST(Ops, FindTheirTensorsByName) {
    const Declared op;
    ASSERT_EQ(op.in.size(), 2u);
    EXPECT_EQ(op.in[0].name(), op.a.name());
    EXPECT_EQ(op.in[1].name(), op.b.name());
    OpTable ops;
    try {
        ops.add<Declared>("w");
        ops.names();
        FAIL() << "it has no w";
    } catch (const AttrError &e) {
        EXPECT_TRUE(std::regex_search(
            e.what(),
            std::regex(
                R"(^\[declared\] scenarios/diagnostics_test\.cpp:\d+: input\("w"\): the inputs of a\[n\] b\[n\] -> c\[n\] are a, b$)")))
            << e.what();
    }
}

// Returns the message of the error that f throws; "nothing" if it throws none.
std::string reported(const std::function<void()> &f) {
    try {
        f();
    } catch (const Error &e) {
        return e.what();
    }
    return "nothing";
}

TEST(References, NameMissingTensors) {
    Problem p;
    p.tensors["x"] = Array({2, 0});
    p.dims = {{"n", 2}};
    EXPECT_EQ(reported([&] { p("y"); }), "[reference] reads tensor y: there is x");
    EXPECT_EQ(reported([&] { p["m"]; }),
              "[reference] reads dimension or integer attribute m: there is n");
    EXPECT_EQ(reported([&] { p.real("eps"); }),
              "[reference] reads real attribute eps: there is none");
    EXPECT_EQ(reported([&] { p("x")(1, 0) = 1; }),
              "[reference] reads element (1, 0) of a tensor of shape [2,0]");
    EXPECT_EQ(reported([&] { p("x")(0) = 1; }),
              "[reference] reads element (0) of a tensor of shape [2,0]");
}

TEST(References, ErrorsNameTheAuthorsLine) {
    set_author_location(reference_location);
    Problem p;
    p.tensors["x"] = Array({2, 3});
    const std::string file = R"(scenarios/diagnostics_test\.cpp:)";
    const std::pair<std::string, std::function<void()>> all[] = {
        {std::to_string(__LINE__) + ": reads tensor y: there is x", [&] { p("y"); }},
        {std::to_string(__LINE__) + ": reads dimension or integer attribute m: there is none",
         [&] { p["m"]; }},
        {std::to_string(__LINE__) + R"(: reads element \(2, 0\) of a tensor of shape \[2,3\])",
         [&] { p("x")(2, 0) = 1; }},
    };
    for (auto &[message, f] : all) {
        // A lambda may begin on the line after its message's.
        const std::regex expected(R"(^\[reference\] )" + file + R"(\d+)" +
                                  message.substr(message.find(':')) + "$");
        const std::string text = reported(f);
        EXPECT_TRUE(std::regex_search(text, expected)) << text;
        const int line = std::atoi(text.substr(text.find(".cpp:") + 5).c_str());
        EXPECT_LE(std::abs(line - std::atoi(message.c_str())), 1) << text;
    }
    set_author_location(nullptr);
}

// The message about 0.5 with a real asks for a suffix, at the first line that has one.
TEST_F(Diagnostics, CompilerExplainsLiterals) {
    std::ofstream(dir / "literals.cpp") << R"(#include "dsl/real.h"
using Halide::Expr, Halide::Func, Halide::Var;
Func x, y;
Var c;
void algorithm() {
    Expr e = x(c) * 0.5;
    e = 0.5 - x(c);
    e = max(x(c), 0.0);
    e = select(x(c) > 1.5, e, 0.0);
    e = pow(e, 2.0);
}
)";
    const std::string run =
        std::string(HALYARD_CXX " -std=c++20 -fsyntax-only -fmax-errors=20 -I" HALYARD_SOURCE_DIR
                                " -isystem " HALYARD_HALIDE_INCLUDE " '") +
        (dir / "literals.cpp").string() + "' 2>'" + (dir / "said").string() + "'";
    EXPECT_NE(std::system(run.c_str()), 0);
    const std::string reported = text_of(dir / "said");
    EXPECT_NE(reported.find("write 0.5_r, not 0.5"), std::string::npos) << reported;
    EXPECT_EQ(reported.find("ambiguous"), std::string::npos) << reported;
    EXPECT_NE(reported.find("literals.cpp:6:"), std::string::npos) << reported;
}

// Lines of another project's CMakeLists.txt, and the message that CMake must give.
TEST_F(Diagnostics, CMakeExplainsMistakes) {
    const std::vector<std::pair<std::string, std::string>> all = {
        {"halyard_op(one)\nhalyard_op(one)\nhalyard_library(shop)\n",
         "halyard_op(one) stands here twice"},
        {"halyard_op(none)\nhalyard_library(shop)\n", "halyard_op(none): there is no "},
        {"halyard_op(one.cpp)\nhalyard_library(shop)\n",
         "takes the name without its ending: halyard_op(one)"},
        {"halyard_op(one)\nhalyard_library(shop)\nhalyard_op(two)\n",
         "halyard_op(two) comes after halyard_library(shop)"},
        {"halyard_op(one)\nhalyard_op(two)\n", "nothing gathers its ops (one, two)"},
        {"halyard_library(shop)\n", "halyard_library(shop) comes before any halyard_op()"},
    };
    for (size_t k = 0; k < all.size(); k++) {
        const fs::path project = dir / ("project" + std::to_string(k));
        fs::create_directories(project);
        for (const char *op : {"one.cpp", "two.cpp"})
            std::ofstream(project / op) << "\n";
        std::ofstream(project / "CMakeLists.txt")
            << "cmake_minimum_required(VERSION 3.25)\nproject(shop LANGUAGES NONE)\n"
            << "include(" HALYARD_SOURCE_DIR "/cmake/HalyardOp.cmake)\n"
            << all[k].first;
        const std::string run = "cmake -S '" + project.string() + "' -B '" +
                                (project / "build").string() + "' >'" + (dir / "said").string() +
                                "' 2>&1";
        EXPECT_NE(std::system(run.c_str()), 0) << all[k].first;
        const std::string reported = std::regex_replace(text_of(dir / "said"), std::regex(R"(\s+)"),
                                                        " ");
        EXPECT_NE(reported.find(all[k].second), std::string::npos) << reported;
        EXPECT_NE(reported.find("CMakeLists.txt"), std::string::npos) << reported;
    }
}

TEST_F(Diagnostics, SurvivesACrashOfTheCodeGenerator) {  // LLVM exits at once.
    const std::string environment = "XDG_CACHE_HOME='" + dir.string() +
                                    "' HL_LLVM_ARGS=-no-such-option";
    expect_rejected("profile softmax --shape \"n=2 c=3\" --time 0.01",
                    "[softmax] the code generator died (exit ", environment);
    expect_rejected("ablate softmax --shape \"n=2 c=3\"",
                    "[softmax] the code generator died (exit ", environment);
    EXPECT_TRUE(fs::is_empty(dir / "halyard/kernels")) << "half an object is in the cache";
}

TEST_F(Diagnostics, AblateFindsADirectiveWithoutEffect) {
    if (host_isa() == Isa::baseline) GTEST_SKIP() << "LLVM vectorizes loops of 4 by itself";
    const Result r = halyard("ablate planted --kernels " HALYARD_MISTAKES
                             " --threads 1 --time 0.05 --rounds 9");
    ASSERT_EQ(r.status, 0) << r.err;
    auto line_with = [&](const std::string &call) {
        const size_t at = r.out.find(call);
        const size_t begin = r.out.rfind('\n', at);
        return at == std::string::npos ? ""
                                       : r.out.substr(begin + 1, r.out.find('\n', at) - begin - 1);
    };
    if (r.out.find("no idle core") != std::string::npos)
        GTEST_SKIP() << "other tests keep all cores busy";
    const std::string first = "compile\n";
    const std::string vectorize = line_with("y.vectorize(lane)"),
                      planted = line_with("y.reorder(c, n)");
    EXPECT_NE(r.out.find(first + vectorize), std::string::npos) << "vectorize isn't first:\n"
                                                                << r.out;
    EXPECT_GT(std::atof(vectorize.c_str()), 1.5) << r.out;
    EXPECT_NE(vectorize.find("mistakes/planted.cpp:23 "), std::string::npos) << r.out;
    EXPECT_NE(planted.find("noise"), std::string::npos) << r.out;
    EXPECT_NE(
        r.out.find("needed: mistakes/planted.cpp:23: y.vectorize(lane): y has no loop lane here"),
        std::string::npos)
        << r.out;
}

TEST_F(Diagnostics, ProfileWritesATimeline) {
    const Result r = halyard("profile softmax_dx --shape \"n=8 c=300\" --variant wide --time 0.05 "
                             "--threads 2 --trace t.json");
    ASSERT_EQ(r.status, 0) << r.err;
    const auto events = nlohmann::json::parse(text_of(dir / "t.json")).at("traceEvents");
    // The enclosing slices, by thread.
    std::map<int, std::vector<std::pair<double, double>>> open;
    std::map<std::string, int> stages;
    for (auto &e : events) {
        ASSERT_EQ(e.at("pid"), 1);
        const int thread = e.at("tid");
        if (e.at("ph") == "M") continue;
        ASSERT_EQ(e.at("ph"), "X");
        const double begin = e.at("ts");
        const double end = begin + e.at("dur").get<double>();
        const double rounding = 1e-6;
        ASSERT_GE(begin, 0);
        ASSERT_GE(end, begin);
        auto &around = open[thread];
        while (!around.empty() && around.back().second <= begin + rounding)
            around.pop_back();
        ASSERT_LE(end, around.empty() ? end : around.back().second + rounding)
            << "slices overlap: " << e;
        around.push_back({begin, end});
        stages[e.at("name")]++;
    }
    EXPECT_EQ(stages["dx"], 1);
    EXPECT_EQ(stages["dot"], 8) << "once per row";
    expect_rejected("profile softmax --shape \"n=8 c=300\" --time 0.01 --trace none/t.json",
                    "[none/t.json] can't be written");
}

}  // namespace
}  // namespace halyard
