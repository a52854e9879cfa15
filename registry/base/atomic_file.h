// AtomicFile: a file that appears whole or not at all, whatever ends the program: it is written
// under another name beside it, and only then given its own name.
//
// The other name can't be foretold and is new, so nobody's link is followed. A symbolic link of the
// final name is replaced, not followed. A new file has the permissions that the umask leaves, a
// replaced one those it had. A device, a pipe, and what lies under /proc, /dev/fd or /dev/std*
// can't be replaced: it is written to as it is.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace halyard {

// How far commit() brings a file: to_disk survives a power failure, to_system the end of the
// program, and costs no waiting.
enum class Durability { to_disk, to_system };

class AtomicFile {
public:
    // Throws IoError when no file can be made there.
    explicit AtomicFile(std::string path, Durability durability = Durability::to_disk);
    ~AtomicFile();  // without commit(): nothing has changed
    AtomicFile(const AtomicFile &) = delete;
    AtomicFile &operator=(const AtomicFile &) = delete;

    void write(const void *data, size_t bytes);  // throws IoError
    void write(std::string_view text) { write(text.data(), text.size()); }
    void commit();  // throws IoError; then `path` is what it was before, or already the new file

private:
    [[noreturn]] void fail(const std::string &what) const;
    void open_in_place();
    void open_temporary();
    void sync_folder() const;

    std::string path_;
    std::string temporary_;  // "" where the file is written in place, and once it has its name
    Durability durability_;
    int file_ = -1;
};

// All of it at once. Throws IoError, and then `path` is what it was before.
void write_file(const std::string &path, std::string_view text,
                Durability durability = Durability::to_disk);

}  // namespace halyard
