// Runs the halyard command in the test's temporary folder.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "registry/tensor/npy.h"

namespace halyard {
namespace fs = std::filesystem;

struct Result {
    int status;
    std::string out, err;
};

inline std::string text_of(const fs::path &path) {
    std::ifstream file(path);
    std::stringstream s;
    s << file.rdbuf();
    return s.str();
}

class Command : public testing::Test {
protected:
    void SetUp() override {
        const auto *info = testing::UnitTest::GetInstance()->current_test_info();
        dir = fs::temp_directory_path() /
              (std::string("halyard_command_") + info->name() + "_" + std::to_string(getpid()));
        fs::create_directories(dir);
    }
    void TearDown() override { fs::remove_all(dir); }

    // Runs the command in the test's folder.
    Result halyard(const std::string &args, const std::string &environment = "") const {
        const int status = std::system(("cd '" + dir.string() + "' && " + environment +
                                        " '" HALYARD_COMMAND "' " + args + " >out.txt 2>err.txt")
                                           .c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(dir / "out.txt"),
                text_of(dir / "err.txt")};
    }
    void save(const char *name, const Tensor &t) const { save_npy((dir / name).string(), t); }
    Tensor load(const char *name) const { return load_npy((dir / name).string()); }
    bool exists(const char *name) const { return fs::exists(dir / name); }
    void write(const char *name, const std::string &bytes) const {
        std::ofstream(dir / name, std::ios::binary) << bytes;
    }
    void expect_rejected(const std::string &args, const std::string &message,
                         const std::string &environment = "") const {
        const Result r = halyard(args, environment);
        EXPECT_EQ(r.status, 1) << args << r.out << r.err;
        EXPECT_NE(r.err.find(message), std::string::npos) << args << ": " << r.err;
        EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
        EXPECT_FALSE(exists("o/out_0.npy")) << args;
    }
    fs::path dir;
};

}  // namespace halyard
