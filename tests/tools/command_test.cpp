// The halyard command as others call it: files in, files out, exit status, one line per error.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "registry/npy.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

struct Result {
    int status;
    std::string out, err;
};

std::string text_of(const fs::path &path) {
    std::ifstream file(path);
    std::stringstream s;
    s << file.rdbuf();
    return s.str();
}

class Command : public testing::Test {
protected:
    void SetUp() override {
        const auto *info = testing::UnitTest::GetInstance()->current_test_info();
        dir = fs::temp_directory_path() / (std::string("halyard_command_") + info->name() + "_" + std::to_string(getpid()));
        fs::create_directories(dir);
    }
    void TearDown() override { fs::remove_all(dir); }

    // Runs in the test's own folder.
    Result halyard(const std::string &args) const {
        const int status = std::system(("cd '" + dir.string() + "' && '" HALYARD_COMMAND "' " + args + " >out.txt 2>err.txt").c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(dir / "out.txt"), text_of(dir / "err.txt")};
    }
    void save(const char *name, const Tensor &t) const { save_npy((dir / name).string(), t); }
    Tensor load(const char *name) const { return load_npy((dir / name).string()); }
    bool exists(const char *name) const { return fs::exists(dir / name); }
    void expect_refused(const std::string &args, const std::string &message) const {
        const Result r = halyard(args);
        EXPECT_EQ(r.status, 1) << args << r.out << r.err;
        EXPECT_NE(r.err.find(message), std::string::npos) << args << ": " << r.err;
        EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
        EXPECT_FALSE(exists("o/out_0.npy")) << args;
    }
    fs::path dir;
};

TEST_F(Command, RunsSoftmaxAndItsGradient) {
    save("x.npy", Tensor::from<float>({0, 1, 2, 3, -1, 5}, {2, 3}));
    save("dy.npy", Tensor::from<float>({1, 0, 2, -1, 3, 0.5f}, {2, 3}));
    const Result r = halyard("run softmax --in x=x.npy --attr axis=0 --out-dir o --grad dy=dy.npy");
    ASSERT_EQ(r.status, 0) << r.err;
    const Tensor y = load("o/out_0.npy"), dx = load("o/d_x.npy"), x = load("x.npy"), dy = load("dy.npy");
    ASSERT_EQ(y.shape(), (Shape{2, 3}));
    for (int64_t j = 0; j < 3; j++) {
        const double a = std::exp(x.at({0, j})), b = std::exp(x.at({1, j})), p = a / (a + b), q = b / (a + b);
        const double dot = p * dy.at({0, j}) + q * dy.at({1, j});
        EXPECT_NEAR(y.at({0, j}), p, 1e-6);
        EXPECT_NEAR(y.at({1, j}), q, 1e-6);
        EXPECT_NEAR(dx.at({0, j}), p * (dy.at({0, j}) - dot), 1e-6);
        EXPECT_NEAR(dx.at({1, j}), q * (dy.at({1, j}) - dot), 1e-6);
    }
    ASSERT_EQ(halyard("run softmax x.npy -a axis=0 -o again --grad y=dy.npy --isa baseline --threads 1").status, 2);  // inputs need --in
    ASSERT_EQ(halyard("run softmax -i x.npy -a axis=0 -o again --grad y=dy.npy --isa baseline --threads 1").status, 0);
    EXPECT_NEAR(load("again/d_x.npy").at({1, 2}), dx.at({1, 2}), 1e-6);
}

TEST_F(Command, RunsOpsWithSeveralInputsByNameAndByPlace) {
    save("a.npy", Tensor::from<float>({1, 2, 3}));
    save("b.npy", Tensor::from<float>({10, 20, 30}));
    ASSERT_EQ(halyard("run sub --in b=b.npy --in a=a.npy --out-dir named --grad dy=a.npy").status, 0);
    ASSERT_EQ(halyard("run sub --in x1=b.npy --in x0=a.npy --out-dir placed").status, 0);
    EXPECT_EQ(load("named/out_0.npy").to_vector<float>(), (std::vector<float>{-9, -18, -27}));
    EXPECT_EQ(load("placed/out_0.npy").to_vector<float>(), (std::vector<float>{-9, -18, -27}));
    EXPECT_EQ(load("named/d_a.npy").to_vector<float>(), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(load("named/d_b.npy").to_vector<float>(), (std::vector<float>{-1, -2, -3}));
}

TEST_F(Command, RunsCompositeOpsAndOpsOfAnyNumberOfTensors) {
    save("x.npy", Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
    save("bias.npy", Tensor::from<float>({10, 20}));
    ASSERT_EQ(halyard("run bias_add --in x=x.npy --in bias=bias.npy --out-dir o --grad dy=x.npy").status, 0);
    EXPECT_EQ(load("o/out_0.npy").to_vector<float>(), (std::vector<float>{11, 22, 13, 24}));
    EXPECT_EQ(load("o/d_bias.npy").to_vector<float>(), (std::vector<float>{4, 6}));
    ASSERT_EQ(halyard("run concat --in x=x.npy --in x=x.npy --attr axis=1 --out-dir joined").status, 0);
    EXPECT_EQ(load("joined/out_0.npy").to_vector<float>(), (std::vector<float>{1, 2, 1, 2, 3, 4, 3, 4}));
    ASSERT_EQ(halyard("run split --in x=x.npy --attr axis=1 --attr output_num=2 --out-dir parts").status, 0);
    EXPECT_EQ(load("parts/out_1.npy").to_vector<float>(), (std::vector<float>{2, 4}));
}

TEST_F(Command, TakesBitsAsBf16) {
    save("x.npy", Tensor::from<float>({1, -2, 0.5f}).to(DType::bf16));
    ASSERT_EQ(halyard("run relu --in x=x.npy --dtype x=bf16 --out-dir o").status, 0);
    const Tensor y = load_npy((dir / "o/out_0.npy").string(), DType::bf16);
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 0, 0.5f}));
}

TEST_F(Command, RefusesInOneLineAndWritesNothing) {
    save("x.npy", Tensor::from<float>({1, 2, 3}));
    expect_refused("run softmx --in x=x.npy --out-dir o", "[softmx] no such op; did you mean softmax");
    expect_refused("run softmax --out-dir o", "[softmax] input x is missing");
    expect_refused("run softmax --in x=x.npy --in x=x.npy --out-dir o", "[softmax] input x is given twice");
    expect_refused("run softmax --in z=x.npy --out-dir o", "[softmax] no input 'z', expected x");
    expect_refused("run softmax --in x.npy --in x.npy --out-dir o", "[softmax] one input too many");
    expect_refused("run softmax --in x=none.npy --out-dir o", "[none.npy]");
    expect_refused("run softmax --in x=x.npy --attr axs=1 --out-dir o", "[softmax] no attribute 'axs'");
    expect_refused("run softmax --in x=x.npy --attr axis=one --out-dir o", "[softmax] axis is 'one'");
    expect_refused("run softmax --in x=x.npy --variant none --out-dir o", "[softmax] no variant 'none'");
    expect_refused("run softmax --in x=x.npy --isa sse --out-dir o", "[isa] 'sse'");
    expect_refused("run softmax --in x=x.npy --grad dz=x.npy --out-dir o", "[softmax] no output 'dz'");
    EXPECT_FALSE(exists("o"));
    std::ofstream(dir / "file") << "in the way";
    expect_refused("run softmax --in x=x.npy --out-dir file/o", "[file/o] can't be created");
}

TEST_F(Command, ExitsWith2WhenTheCommandLineIsWrong) {
    EXPECT_EQ(halyard("").status, 0);
    EXPECT_EQ(halyard("run --help").status, 0);
    EXPECT_EQ(halyard("nothing").status, 2);
    EXPECT_EQ(halyard("run softmax").status, 2);
    EXPECT_EQ(halyard("ops --threads 5000").status, 2);
}

TEST_F(Command, ListsOpsAsJson) {
    const Result r = halyard("ops --json");
    ASSERT_EQ(r.status, 0) << r.err;
    const auto all = nlohmann::json::parse(r.out);
    std::map<std::string, nlohmann::json> by_name;
    for (auto &op : all) by_name[op.at("name")] = op;
    ASSERT_TRUE(by_name.count("softmax") && by_name.count("softmax_dx") && by_name.count("concat"));
    EXPECT_EQ(by_name["softmax"].at("class"), "Softmax");
    EXPECT_EQ(by_name["softmax"].at("gradients"), nlohmann::json({"x"}));
    EXPECT_EQ(by_name["softmax"].at("attributes")[0].at("default"), "-1");
    EXPECT_TRUE(by_name["softmax_dx"].at("internal"));
    const std::string table = halyard("ops").out;
    EXPECT_NE(table.find("\nsoftmax "), std::string::npos);
    EXPECT_EQ(table.find("\nsoftmax_dx "), std::string::npos);
}

TEST_F(Command, ExplainsAndBenches) {
    const Result r = halyard("explain add --shape a=2x3 --shape b=3");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find(": chosen"), std::string::npos);
    EXPECT_EQ(halyard("explain add --shape a=2x3 --shape b=4").status, 1);
    EXPECT_EQ(halyard("explain softmax --dtype i32").status, 1);
    const Result b = halyard("bench softmax --shape \"n=3 c=7\" --rounds 2 --min-time 0.0005 --threads 1 --json runs.json");
    ASSERT_EQ(b.status, 0) << b.err << b.out;
    EXPECT_NE(b.out.find("against the reference"), std::string::npos) << b.out;
    const auto runs = nlohmann::json::parse(text_of(dir / "runs.json"));
    EXPECT_GE(runs.at("benchmarks").size(), 2u);
}

}  // namespace
}  // namespace halyard
