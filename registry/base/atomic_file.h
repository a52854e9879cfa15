// AtomicFile: a file that appears complete or not at all, whatever ends the program. It is written
// under a temporary name in the same folder and renamed at the end.
//
// The temporary name is new and unpredictable, so no existing link is followed. A symbolic link of
// the final name is replaced, not followed. A new file has the permissions that the umask allows; a
// replaced file keeps its permissions. Devices, pipes and files under /proc, /dev/fd or /dev/std*
// can't be replaced; they are written in place.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace halyard {

// How long a committed file lasts: to_disk survives a power failure, to_system the end of the
// program, without waiting for the disk.
enum class Durability { to_disk, to_system };

class AtomicFile {
public:
    // Throws IoError when no file can be made there.
    explicit AtomicFile(std::string path, Durability durability = Durability::to_disk);
    ~AtomicFile();  // without commit() nothing has changed
    AtomicFile(const AtomicFile &) = delete;
    AtomicFile &operator=(const AtomicFile &) = delete;

    void write(const void *data, size_t bytes);  // throws IoError
    void write(std::string_view text) { write(text.data(), text.size()); }
    // Throws IoError; `path` is then either unchanged or the new file.
    void commit();

private:
    [[noreturn]] void fail(const std::string &what) const;
    void open_in_place();
    void open_temporary();
    void sync_folder() const;

    std::string path_;
    std::string temporary_;  // "" when the file is written in place, and after the renaming
    Durability durability_;
    int file_ = -1;
};

// Writes a whole file. Throws IoError; `path` is then unchanged.
void write_file(const std::string &path, std::string_view text,
                Durability durability = Durability::to_disk);

}  // namespace halyard
