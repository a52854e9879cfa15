// Measures the conversion of photographs to tensors, one after the other on one thread. The files
// of a folder are read before. bench/peers/compare_images.py interleaves it with Pillow,
// torchvision and OpenCV.
//
// usage: image_pipeline FOLDER ROUNDS
//
// Prints a line "STEP MICROSECONDS" per image, with the least time of the rounds.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "registry/base/parallel.h"
#include "train/vision/augment.h"
#include "train/vision/image.h"

using namespace halyard;
using namespace halyard::dataset;

int main(int argc, char **argv) {
    if (argc != 3) {
        std::puts("usage: image_pipeline FOLDER ROUNDS");
        return 2;
    }
    set_threads(1);
    std::vector<Tensor> files;
    for (auto &entry : std::filesystem::directory_iterator(argv[1]))
        files.push_back(read_bytes(entry.path().string()));

    const vision::Resize shorter(256);
    const vision::CenterCrop middle(224);
    const vision::RandomCropDecodeResize part(224);
    const vision::RandomHorizontalFlip flip;
    const vision::Normalize normalize({123.675, 116.28, 103.53}, {58.395, 57.12, 57.375});
    const vision::HWC2CHW planes;
    const auto eval = [&](const Tensor &t, Draw &) {
        return middle(shorter(decode_image(t, "file")));
    };
    const std::pair<const char *, std::function<Tensor(const Tensor &, Draw &)>> steps[] = {
        {"decode", [](const Tensor &t, Draw &) { return decode_image(t, "file"); }},
        // Decodes, resizes the shorter side to 256 and crops the middle 224 x 224.
        {"eval", eval},
        // Crops a random part, resizes it to 224 x 224 and flips it at random.
        {"train", [&](const Tensor &t, Draw &draw) { return flip(part(t, draw), draw); }},
        {"eval_chw", [&](const Tensor &t, Draw &draw) { return planes(normalize(eval(t, draw))); }},
    };
    std::map<std::string, double> least;
    for (int round = 0; round < std::atoi(argv[2]); round++) {
        for (const auto &[name, step] : steps) {
            const auto begin = std::chrono::steady_clock::now();
            for (size_t i = 0; i < files.size(); i++) {
                Draw draw(Random(1, uint64_t(round)), i);
                step(files[i], draw);
            }
            const double us = std::chrono::duration<double, std::micro>(
                                  std::chrono::steady_clock::now() - begin)
                                  .count() /
                              double(files.size());
            if (!least.contains(name) || us < least[name]) least[name] = us;
        }
    }
    for (const auto &[name, us] : least)
        std::printf("%s %.1f\n", name.c_str(), us);
}
