#include "registry/base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "registry/base/error.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

std::string text_of(const fs::path &path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

mode_t mode_of(const fs::path &path) {
    struct stat s = {};
    EXPECT_EQ(stat(path.c_str(), &s), 0) << path;
    return s.st_mode & 0777;
}

std::string error_text(const std::function<void()> &f) {
    try {
        f();
    } catch (const IoError &e) {
        return e.what();
    }
    return "";
}

class AtomicFiles : public testing::Test {
protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "atomic_XXXXXX";
        ASSERT_TRUE(mkdtemp(name.data()));
        folder = name;
        mask = umask(027);
    }
    void TearDown() override {
        umask(mask);
        fs::remove_all(folder);
    }
    std::string at(const std::string &name) const { return (folder / name).string(); }
    size_t files() const {
        return size_t(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
    }

    fs::path folder;
    mode_t mask = 0;
};

TEST_F(AtomicFiles, NothingChangesWithoutCommit) {
    write_file(at("a"), "old");
    {
        AtomicFile file(at("a"));
        file.write("new");
        EXPECT_EQ(text_of(at("a")), "old");
    }
    EXPECT_EQ(text_of(at("a")), "old");
    EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFiles, KeepUmaskAndOldPermissions) {
    write_file(at("a"), "1");
    EXPECT_EQ(mode_of(at("a")), 0640u);
    chmod(at("a").c_str(), 0600);
    write_file(at("a"), "2", Durability::to_system);
    EXPECT_EQ(mode_of(at("a")), 0600u);
    EXPECT_EQ(text_of(at("a")), "2");
}

TEST_F(AtomicFiles, ALinkIsReplacedAndNotFollowed) {
    write_file(at("precious"), "mine");
    fs::create_symlink("precious", at("link"));
    write_file(at("link"), "output");
    EXPECT_EQ(text_of(at("precious")), "mine");
    EXPECT_EQ(text_of(at("link")), "output");
    EXPECT_FALSE(fs::is_symlink(at("link")));
}

TEST_F(AtomicFiles, SpecialFilesAreWrittenInPlace) {
    write_file("/dev/null", "gone");
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_EQ(error_text([] { write_file("/dev/full", "text"); }),
              "[/dev/full] can't be written: No space left on device");
    EXPECT_TRUE(fs::is_character_file("/dev/full"));
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    write_file("/dev/fd/" + std::to_string(ends[1]), "through");
    char text[16] = {};
    EXPECT_EQ(read(ends[0], text, sizeof text), 7);
    EXPECT_STREQ(text, "through");
    close(ends[0]);
    close(ends[1]);
}

TEST_F(AtomicFiles, ErrorsNameTheFileAndLeaveNothing) {
    EXPECT_EQ(error_text([&] { write_file(at("no/a"), "x"); }),
              "[" + at("no/a") + "] can't be written: No such file or directory");
    EXPECT_EQ(error_text([] { write_file("/proc/nowhere", "x"); }),
              "[/proc/nowhere] can't be written: No such file or directory");
    fs::create_directory(at("folder"));
    EXPECT_EQ(error_text([&] { write_file(at("folder"), "x"); }),
              "[" + at("folder") + "] can't be replaced: Is a directory");
    EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace halyard
