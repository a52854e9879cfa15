// Opens libraries with dlopen() in a program that is linked with none of them, as scripting
// languages and plug-ins do. Their thread-local variables must fit into the few hundred bytes that
// a process reserves for libraries opened later.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace {

constexpr size_t max_thread_local_bytes = 512;

struct Found {
    const char *path;
    size_t bytes = 0;
    bool seen = false;
};

int look(dl_phdr_info *info, size_t, void *at) {
    Found &found = *static_cast<Found *>(at);
    if (!info->dlpi_name || std::strcmp(info->dlpi_name, found.path) != 0) return 0;
    found.seen = true;
    for (int k = 0; k < info->dlpi_phnum; k++)
        if (info->dlpi_phdr[k].p_type == PT_TLS) found.bytes = info->dlpi_phdr[k].p_memsz;
    return 1;
}

}  // namespace

int main(int count, char **paths) {
    int failed = count < 2;
    for (int k = 1; k < count; k++) {
        if (!dlopen(paths[k], RTLD_NOW | RTLD_LOCAL)) {
            std::printf("%s: %s\n", paths[k], dlerror());
            failed = 1;
            continue;
        }
        Found found{paths[k]};
        dl_iterate_phdr(look, &found);
        const bool fits = found.seen && found.bytes <= max_thread_local_bytes;
        std::printf("%s: %zu bytes of thread-locals%s\n", paths[k], found.bytes,
                    fits         ? ""
                    : found.seen ? ", too many"
                                 : "?");
        if (!fits) failed = 1;
    }
    return failed;
}
