// usage: make_images digits|photographs OUT [size] [images of a class] [folder]
// Creates an image folder with train/ and test/ from the files under data/.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "examples/images/image_folders.h"
#include "registry/base/error.h"

int main(int argc, char **argv) {
    using namespace halyard;
    const bool digits = argc > 2 && !std::strcmp(argv[1], "digits");
    const bool photographs = argc > 2 && !std::strcmp(argv[1], "photographs");
    if (!digits && !photographs) {
        std::fprintf(
            stderr,
            "usage: make_images digits|photographs OUT [size] [images of a class] [folder]\n");
        return 2;
    }
    try {
        const int64_t size = argc > 3 ? std::atoll(argv[3]) : 0;
        const int64_t per_class = argc > 4 ? std::atoll(argv[4]) : 0;
        const std::string data = argc > 5 ? argv[5] : "data";
        if (digits)
            examples::write_digits(data + "/digits/28", argv[2], size ? size : 32, per_class);
        else {
            examples::write_photographs(data + "/photographs", argv[2], size ? size : 256,
                                        per_class ? per_class : 64);
        }
        return 0;
    } catch (const Error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
