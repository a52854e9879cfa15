// C99 for tests: compiled with the machine's compiler, and loaded.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "registry/base/atomic_file.h"
#include "registry/base/run_program.h"
#include "registry/base/temporary_folder.h"

namespace halyard::c99 {

// A source, compiled and loaded.
class Compiled {
public:
    explicit Compiled(const std::string &source) {
        const std::string file = (folder_.path / "source.c").string();
        const std::string library = (folder_.path / "source.so").string();
        write_file(file, source, Durability::to_system);
        const Ended cc = run_program({"cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror",
                                      "-fPIC", "-shared", "-o", library, file, "-lm"},
                                     Keep::output_and_errors);
        EXPECT_EQ(cc.status, 0) << cc.text << source;
        handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        EXPECT_NE(handle_, nullptr);
    }
    template<class F> F *get(const char *name) const {
        return reinterpret_cast<F *>(dlsym(handle_, name));
    }

private:
    const TemporaryFolder folder_{"halyard_c99_test"};
    void *handle_ = nullptr;
};

}  // namespace halyard::c99
