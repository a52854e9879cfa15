#include "registry/base/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "registry/base/error.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

size_t files_in(const fs::path &folder) {
    return size_t(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(TemporaryFolder, IsPrivateAndRemovedWithItsContents) {
    fs::path path;
    {
        const TemporaryFolder folder("halyard_test");
        path = folder.path;
        struct stat s = {};
        ASSERT_EQ(stat(path.c_str(), &s), 0);
        EXPECT_EQ(s.st_mode & 0777, 0700u);
        fs::create_directories(path / "a/b");
        std::ofstream(path / "a/b/c") << "text";
    }
    EXPECT_FALSE(fs::exists(path));
}

// A killed child leaves its folder, which is removed. Folders of living processes and folders with
// other names stay.
TEST(TemporaryFolder, RemovesFoldersOfKilledProcesses) {
    const TemporaryFolder parent("halyard_test");
    fs::create_directory(parent.path / "work_inAnother");
    const auto child = [&](bool dies) {
        int ready[2];
        EXPECT_EQ(pipe(ready), 0);
        const pid_t pid = fork();
        if (pid == 0) {
            const TemporaryFolder own("work", parent.path);
            const bool is_ready = write(ready[1], "x", 1) == 1;
            if (is_ready && !dies) pause();
            _exit(0);  // Destructors don't run, as if it was killed.
        }
        char byte;
        EXPECT_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        if (dies) waitpid(pid, nullptr, 0);
        return pid;
    };
    const pid_t alive = child(false);
    EXPECT_EQ(files_in(parent.path), 2u);
    child(true);
    EXPECT_EQ(files_in(parent.path), 3u);
    {
        // This process has not cleaned that folder before.
        const TemporaryFolder next("work", parent.path);
        EXPECT_EQ(files_in(parent.path), 3u)
            << "the dead one's is gone, the living one's and the other's are there";
    }
    kill(alive, SIGKILL);
    waitpid(alive, nullptr, 0);
}

TEST(TemporaryFolder, ChildDoesNotRemoveItsParents) {
    const TemporaryFolder folder("halyard_test");
    const pid_t pid = fork();
    if (pid == 0) {
        folder.~TemporaryFolder();
        _exit(0);
    }
    waitpid(pid, nullptr, 0);
    EXPECT_TRUE(fs::is_directory(folder.path));
}

TEST(TemporaryFolder, ErrorNamesTMPDIRIfItIsNoFolder) {
    const char *before = std::getenv("TMPDIR");
    const std::optional<std::string> kept = before ? std::optional<std::string>(before)
                                                   : std::nullopt;
    setenv("TMPDIR", "/no/such/folder", 1);
    try {
        const TemporaryFolder folder("halyard_test");
        ADD_FAILURE() << folder.path;
    } catch (const IoError &e) {
        EXPECT_STREQ(e.what(),
                     "[/no/such/folder] is no folder for temporary files: TMPDIR names it");
    }
    if (kept)
        setenv("TMPDIR", kept->c_str(), 1);
    else
        unsetenv("TMPDIR");
}

}  // namespace
}  // namespace halyard
