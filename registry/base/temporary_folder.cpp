#include "registry/base/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "registry/base/error.h"

namespace halyard {
namespace fs = std::filesystem;
namespace {

constexpr int attempts = 100;  // another process may sweep a folder before its owner has locked it
enum class Lock { taken, busy, unsupported };

int open_folder(const fs::path &path) {
    return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

Lock lock(int folder) {
    if (flock(folder, LOCK_EX | LOCK_NB) == 0) return Lock::taken;
    return errno == EWOULDBLOCK ? Lock::busy : Lock::unsupported;
}

// Removes the folder if it belongs to this user and is not locked.
void remove_if_left(const fs::path &path) {
    const int folder = open_folder(path);
    if (folder < 0) return;
    struct stat s;
    std::error_code ignored;
    if (fstat(folder, &s) == 0 && s.st_uid == geteuid() && lock(folder) == Lock::taken)
        fs::remove_all(path, ignored);
    close(folder);
}

// Once per process and name, because listing a large folder takes long.
void sweep(const fs::path &parent, const std::string &prefix) {
    static std::mutex mutex;
    static std::set<std::string> swept;
    {
        const std::lock_guard guard(mutex);
        if (!swept.insert((parent / prefix).string()).second) return;
    }
    std::error_code unreadable;
    for (fs::directory_iterator e(parent, unreadable), end; !unreadable && e != end;
         e.increment(unreadable)) {
        const std::string name = e->path().filename().string();
        if (name.size() == prefix.size() + 6 && name.starts_with(prefix)) remove_if_left(e->path());
    }
}

// Returns true if the folder was removed after it was opened.
bool is_gone(int folder) {
    struct stat s;
    return fstat(folder, &s) != 0 || s.st_nlink == 0;
}

}  // namespace

fs::path temporary_files() {
    const char *named = std::getenv("TMPDIR");
    const bool given = named && *named;
    const fs::path path = given ? named : "/tmp";
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
        throw IoError(path.string(), std::string("is no folder for temporary files") +
                                         (given ? ": TMPDIR names it" : ""));
    }
    return fs::absolute(path);
}

TemporaryFolder::TemporaryFolder(const std::string &name, const fs::path &parent)
    : owner_(getpid()) {
    const std::string prefix = name + "_";
    sweep(parent, prefix);
    for (int k = 0; k < attempts; k++) {
        std::string made = (parent / (prefix + "XXXXXX")).string();
        if (!mkdtemp(made.data()))
            throw IoError(made, std::string("can't be made: ") + std::strerror(errno));
        path = made;
        lock_ = open_folder(path);
        if (lock_ >= 0 && lock(lock_) != Lock::busy && !is_gone(lock_)) return;
        if (lock_ >= 0) close(lock_);
    }
    throw IoError(parent.string(), "no temporary folder can be kept there");
}

TemporaryFolder::~TemporaryFolder() {
    if (owner_ == getpid()) {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    close(lock_);
}

}  // namespace halyard
