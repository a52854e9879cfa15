// usage: make_motions OUT [rows] [readings of a row]
// Creates the data of the network `motion`: OUT/train and OUT/test.
#include <cstdio>
#include <cstdlib>

#include "examples/motion/motion.h"
#include "registry/base/error.h"

int main(int argc, char **argv) {
    using namespace halyard;
    const int64_t rows = argc > 2 ? std::atoll(argv[2]) : 2000;
    const int64_t length = argc > 3 ? std::atoll(argv[3]) : 50;
    const int64_t least = examples::MotionNet::kernel_size;
    if (argc < 2 || argc > 4 || rows < 4 || length < least) {
        std::fprintf(stderr, "usage: make_motions OUT [rows >= 4] [readings of a row >= %lld]\n",
                     (long long)least);
        return 2;
    }
    try {
        examples::write_motions(argv[1], rows, length);
        return 0;
    } catch (const Error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
