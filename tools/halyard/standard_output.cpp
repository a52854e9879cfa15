#include "tools/halyard/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "registry/base/error.h"

namespace halyard::command {

void flush_standard_output() {
    errno = 0;
    std::cout.flush();
    const bool flushed = std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout.good();
    if (!flushed) {
        throw IoError("standard output",
                      std::string("can't be written") +
                          (errno ? std::string(": ") + std::strerror(errno) : ""));
    }
}

}  // namespace halyard::command
