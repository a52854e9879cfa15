// usage: continue_text transformer|lstm CHECKPOINT [text] [bytes] [temperature]
// Continues a text with a model that `halyard train` trained.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "examples/language/generate.h"
#include "examples/language/lstm.h"
#include "examples/language/text.h"
#include "examples/language/transformer.h"
#include "registry/base/error.h"
#include "train/checkpoint/checkpoint.h"

using namespace halyard;

int main(int argc, char **argv) {
    const bool transformer = argc > 2 && !std::strcmp(argv[1], "transformer");
    const bool lstm = argc > 2 && !std::strcmp(argv[1], "lstm");
    if (!transformer && !lstm) {
        std::fprintf(
            stderr,
            "usage: continue_text transformer|lstm CHECKPOINT [text] [bytes] [temperature]\n");
        return 2;
    }
    try {
        constexpr int64_t length = 64;  // the same as in examples/recipes.cpp
        const nn::AnyCell network =
            transformer
                ? nn::AnyCell(examples::TransformerModel(examples::vocabulary, {.length = length}))
                : nn::AnyCell(examples::LstmModel(examples::vocabulary));
        const LoadReport report = load_param_into_net(network, load_checkpoint(argv[2]));
        if (!report.param_not_load.empty() || !report.mismatched.empty()) {
            throw AttrError("generate",
                            std::string(argv[2]) + " is of another network:\n" + report.text());
        }
        const std::string text = argc > 3 ? argv[3] : "The ";
        const int64_t count = argc > 4 ? std::atoll(argv[4]) : 200;
        std::printf("%s\n", examples::continued(network, text, count, length,
                                                argc > 5 ? std::atof(argv[5]) : 0.7)
                                .c_str());
        return 0;
    } catch (const Error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
