// halyard_gen_composites, linked with primitives/ but with no kernel: writes the headers with the
// functions of all composites, before anything that calls them is compiled.
//
//   gen_composites --faces FACES
//   FACES/<file>.h    the classes and functions of primitives/composites/<file>.cpp
//
// A header that would stay as it is isn't written, so that nothing is compiled anew for it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "dsl/name_check.h"
#include "dsl/op_check.h"
#include "primitives/composites/composite.h"
#include "registry/base/atomic_file.h"
#include "registry/op/op_files.h"
#include "tools/composite_op.h"
#include "tools/emit.h"

namespace halyard {

// Kernels and their records don't exist for this program.
std::vector<const OpFile *> op_files() {
    return {};
}

namespace {

int main_(int argc, char **argv) {
    CLI::App app{"Writes the functions of all composites."};
    std::string faces;
    app.add_option("--faces", faces)->required();
    CLI11_PARSE(app, argc, argv);

    OpTable table;
    add_composites(table);
    int errors = 0;
    for (const std::string &name : table.names()) {
        try {
            const OpPtr op = table.make(name);
            check_record(*op);
            check_names(*op);
        } catch (const Error &e) {
            std::fprintf(stderr, "%s\n", e.what());
            errors++;
        }
    }
    if (errors > 0) return 1;
    std::filesystem::create_directories(faces);
    for (const OpFile *file : composites().files()) {
        const auto path = std::filesystem::path(faces) / (file->name + ".h");
        write_if_new(path, face_source(file->ops));
    }
    return 0;
}

}  // namespace
}  // namespace halyard

int main(int argc, char **argv) try {
    return halyard::main_(argc, argv);
} catch (const std::exception &e) {
    std::fprintf(stderr, "halyard_gen_composites: %s\n", e.what());
    return 1;
}
