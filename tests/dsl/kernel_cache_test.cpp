// Tests the kernel cache: its files are executed, so they must be the user's own and undamaged.
#include "dsl/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "dsl/kernel.h"
#include "registry/base/error.h"
#include "registry/base/run_program.h"
#include "registry/base/temporary_folder.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

std::string text_of(const fs::path &path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}
void put(const fs::path &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

mode_t mode_of(const fs::path &path) {
    struct stat s = {};
    EXPECT_EQ(stat(path.c_str(), &s), 0) << path;
    return s.st_mode & 07777;
}

std::vector<fs::path> files_in(const fs::path &folder) {
    std::vector<fs::path> files;
    for (auto &e : fs::directory_iterator(folder))
        files.push_back(e.path());
    return files;
}

std::string error_text(const std::function<void()> &f) {
    try {
        f();
    } catch (const IoError &e) {
        return e.what();
    }
    return "no error";
}

class KernelCache : public testing::Test {
protected:
    void SetUp() override {
        const char *before = std::getenv("XDG_CACHE_HOME");
        kept = before ? before : "";
        setenv("XDG_CACHE_HOME", home.path.c_str(), 1);
    }
    void TearDown() override {
        if (kept.empty())
            unsetenv("XDG_CACHE_HOME");
        else
            setenv("XDG_CACHE_HOME", kept.c_str(), 1);
    }
    // Returns an entry and counts how often it is made.
    std::string entry(const std::string &text) {
        return cached_bytes("entry", [&](const std::string &path) {
            made++;
            put(path, text);
        });
    }

    const TemporaryFolder home{"halyard_test"};
    const fs::path folder = home.path / "halyard/kernels";
    std::string kept;
    int made = 0;
};

TEST_F(KernelCache, KeepsAnEntry) {
    EXPECT_EQ(entry("code"), "code");
    EXPECT_EQ(entry("other"), "code");
    EXPECT_EQ(made, 1);
    EXPECT_EQ(files_in(folder), std::vector{folder / "entry"}) << "temporary files are left";
}

TEST_F(KernelCache, RebuildsADamagedEntry) {
    entry("code");
    const std::string whole = text_of(folder / "entry");
    std::vector<std::string> damaged = {"", "code", std::string(whole.size(), '\0')};
    for (size_t n = 0; n < whole.size(); n++)
        damaged.push_back(whole.substr(0, n));
    for (size_t bit = 0; bit < 8 * whole.size(); bit++) {
        damaged.push_back(whole);
        damaged.back()[bit / 8] ^= char(1 << bit % 8);
    }
    for (const std::string &bytes : damaged) {
        put(folder / "entry", bytes);
        made = 0;
        ASSERT_EQ(entry("code"), "code");
        ASSERT_EQ(made, 1) << bytes;
        ASSERT_EQ(text_of(folder / "entry"), whole);
    }
}

TEST_F(KernelCache, KeepsNothingOfAFailedBuild) {
    EXPECT_THROW(cached_file("entry",
                             [](const std::string &path) {
                                 put(path, "half");
                                 throw IoError("x", "y");
                             }),
                 IoError);
    EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(KernelCache, RejectsFoldersThatOthersCanWrite) {
    const mode_t mask = umask(0);
    kernel_cache();
    umask(mask);
    EXPECT_EQ(mode_of(folder), 0700u);
    EXPECT_EQ(mode_of(home.path / "halyard") & 022u, 0u);
    chmod(folder.c_str(), 0755);  // Older versions left it so.
    kernel_cache();
    EXPECT_EQ(mode_of(folder), 0700u);

    const std::string remedy = ", and kernels from there would be run: remove it, or set "
                               "XDG_CACHE_HOME to a folder of your own";
    for (const mode_t open : {0770u, 0707u, 01777u}) {
        chmod(folder.c_str(), open);
        EXPECT_EQ(error_text([] { kernel_cache(); }),
                  "[" + folder.string() + "] can be written by others" + remedy);
    }
    chmod(folder.c_str(), 0700);
    if (geteuid() != 0) return;
    ASSERT_EQ(chown(folder.c_str(), 65534, 65534), 0);
    EXPECT_EQ(error_text([] { kernel_cache(); }),
              "[" + folder.string() + "] belongs to user 65534" + remedy);
    ASSERT_EQ(chown((home.path / "halyard").c_str(), 65534, 65534), 0);
    EXPECT_EQ(error_text([] { kernel_cache(); }),
              "[" + (home.path / "halyard").string() + "] belongs to user 65534" + remedy);
}

Ended run_cache(const std::string &option) {
    std::vector<std::string> words{HALYARD_COMMAND, "cache"};
    if (!option.empty()) words.push_back(option);
    return run_program(words, Keep::output_and_errors);
}

TEST_F(KernelCache, CommandListsAndClearsIt) {
    cached_file("a", [](const std::string &path) { put(path, "1"); });
    cached_file("b", [](const std::string &path) { put(path, "22"); });
    const Ended listed = run_cache("--list");
    EXPECT_EQ(std::count(listed.text.begin(), listed.text.end(), '\n'), 2) << listed.text;
    EXPECT_NE(listed.text.find("  a\n"), std::string::npos) << listed.text;
    EXPECT_NE(run_cache("").text.find(": 2 kernels, 0.0 MB of at most 4295.0 MB\n"),
              std::string::npos);
    EXPECT_NE(run_cache("--clean").text.find(": 2 kernels, 0.0 MB removed\n"), std::string::npos);
    EXPECT_TRUE(fs::is_empty(folder));
    EXPECT_NE(run_program({HALYARD_COMMAND, "cache", "--list", "--clean"}, Keep::output).status, 0);
}

TEST_F(KernelCache, CommandFindsAndRemovesDamagedEntries) {
    for (const char *name : {"a", "b", "c"})
        cached_file(name, [](const std::string &path) { put(path, "1"); });
    EXPECT_EQ(run_cache("--verify").status, 0);
    put(folder / "b", "2" + text_of(folder / "b").substr(1));
    const Ended verified = run_cache("--verify");
    EXPECT_NE(verified.status, 0);
    EXPECT_NE(verified.text.find((folder / "b").string() + " is damaged\n"), std::string::npos);
    EXPECT_NE(run_cache("--repair").text.find(": 1 kernels, 0.0 MB removed\n"), std::string::npos);
    EXPECT_EQ(run_cache("--verify").status, 0);
    EXPECT_EQ(files_in(folder).size(), 2u);
}

// Sets a variable of the environment while it lives.
struct Variable {
    const char *name;
    Variable(const char *name, const char *value) : name(name) { setenv(name, value, 1); }
    ~Variable() { unsetenv(name); }
    Variable(const Variable &) = delete;
    Variable &operator=(const Variable &) = delete;
};

TEST_F(KernelCache, StaysWithinItsLimit) {
    const Variable limit("HALYARD_CACHE_SIZE", "1MB");
    const std::string megabyte(1 << 20, 'x');
    const auto add = [&](const std::string &name) {
        cached_file(name, [&](const std::string &path) { put(path, megabyte); });
    };
    const auto used_before = [&](const char *name, std::chrono::hours time) {
        fs::last_write_time(folder / name, fs::file_time_type::clock::now() - time);
    };
    for (const char *name : {"a", "b", "c"})
        add(name);
    EXPECT_EQ(files_in(folder).size(), 3u) << "they may be in use";
    used_before("a", std::chrono::hours(2));
    used_before("b", std::chrono::hours(3));
    add("a");                             // a use
    constexpr int most_additions = 1000;  // of which one in 32 looks
    for (int k = 0; k < most_additions && fs::exists(folder / "b"); k++)
        cached_file("small" + std::to_string(k), [](const std::string &path) { put(path, "1"); });
    EXPECT_TRUE(fs::exists(folder / "a"));
    EXPECT_FALSE(fs::exists(folder / "b"));
    EXPECT_TRUE(fs::exists(folder / "c"));
}

TEST_F(KernelCache, RejectsAWrongLimit) {
    for (const char *wrong : {"2", "2TB", "GB", "-1GB", "0MB", "nanGB"}) {
        const Variable limit("HALYARD_CACHE_SIZE", wrong);
        EXPECT_THROW(cache_limit(), AttrError) << wrong;
    }
    const Variable limit("HALYARD_CACHE_SIZE", "0.5GB");
    EXPECT_EQ(cache_limit(), 1 << 29);
}

struct Twice : Op {
    Twice() : Op("twice", "x[*] -> y[*]") {}
    Func x = input("x");
    Func y = output("y");
    void algorithm() override { y(Halide::_) = x(Halide::_) + x(Halide::_); }
    void reference(Problem &) const override {}
};

TEST_F(KernelCache, ThreadsLoadOneKernelConcurrently) {
    OpTable ops;
    ops.add<Twice>();
    for (int round = 0; round < 3; round++) {
        fs::remove_all(folder);
        Kernel kernel(ops.make("twice"), {});
        std::atomic<int> waiting = 8, loaded = 0;
        std::vector<std::string> errors(8);
        std::vector<std::thread> threads;
        for (size_t i = 0; i < 8; i++) {
            threads.emplace_back([&, i] {
                waiting--;
                while (waiting > 0)
                    std::this_thread::yield();
                try {
                    loaded += kernel.load() != nullptr;
                } catch (const std::exception &e) {
                    errors[i] = e.what();
                }
            });
        }
        for (std::thread &t : threads)
            t.join();
        EXPECT_EQ(loaded, 8);
        for (const std::string &e : errors)
            EXPECT_EQ(e, "");
        EXPECT_EQ(files_in(folder).size(), 2u) << "an object and a library";
    }
}

const std::vector<std::string> profile = {HALYARD_COMMAND, "profile", "softmax", "--shape",
                                          "n=2 c=3",       "--time",  "0.01"};

Ended run_with(std::vector<std::string> environment) {
    environment.insert(environment.begin(), "env");
    environment.insert(environment.end(), profile.begin(), profile.end());
    return run_program(environment, Keep::output_and_errors);
}

size_t warnings(const std::string &text) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find("[kernel cache]", at)) != std::string::npos; at++)
        count++;
    return count;
}

TEST_F(KernelCache, CommandRepairsIt) {
    EXPECT_EQ(warnings(run_with({}).text), 0u);
    const std::vector<fs::path> entries = files_in(folder);
    ASSERT_GE(entries.size(), 2u);
    std::vector<std::string> whole;
    for (auto &path : entries) {
        whole.push_back(text_of(path));
        put(path, whole.back().substr(0, 8000));
    }
    const Ended healed = run_with({});
    EXPECT_EQ(healed.status, 0) << healed.text;
    EXPECT_EQ(warnings(healed.text), 1u) << healed.text;
    for (size_t k = 0; k < entries.size(); k++)
        EXPECT_EQ(text_of(entries[k]), whole[k]) << entries[k];
}

TEST_F(KernelCache, IsPrivateAndTemporaryWithoutAHome) {
    const std::string files = "TMPDIR=" + home.path.string();
    const std::vector<std::vector<std::string>> environments = {
        {"-u", "XDG_CACHE_HOME", "-u", "HOME", files},
        {"XDG_CACHE_HOME=/proc/none", files},
        {"-u", "XDG_CACHE_HOME", "HOME=/dev/null", files}};
    for (const auto &environment : environments) {
        const Ended ended = run_with(environment);
        EXPECT_EQ(ended.status, 0) << ended.text;
        EXPECT_EQ(warnings(ended.text), 1u) << ended.text;
        EXPECT_TRUE(fs::is_empty(home.path)) << environment[1];
    }
    // The same holds if workers compile, and for what PoCL compiles.
    for (const std::vector<std::string> &no_home :
         {std::vector<std::string>{"-u", "HOME"}, {"HOME=/dev/null"}}) {
        std::vector<std::string> command = {"env", "-u", "XDG_CACHE_HOME", "-u", "POCL_CACHE_DIR"};
        command.insert(command.end(), no_home.begin(), no_home.end());
        for (const std::string &word : {files, std::string(HALYARD_COMMAND), std::string("check"),
                                        std::string("relu"), std::string("--quick")})
            command.push_back(word);
        const Ended checked = run_program(command, Keep::output_and_errors);
        EXPECT_EQ(checked.status, 0) << checked.text;
    }
    EXPECT_TRUE(fs::is_empty(home.path));
}

}  // namespace
}  // namespace halyard
