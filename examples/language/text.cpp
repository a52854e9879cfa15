#include "examples/language/text.h"

#include <algorithm>
#include <filesystem>

#include "registry/base/error.h"
#include "train/data/sources.h"
#include "train/vision/image.h"

namespace halyard::examples {
namespace fs = std::filesystem;

std::string read_texts(const std::string &folder) {
    std::error_code failed;
    std::vector<fs::path> files;
    for (const auto &entry : fs::directory_iterator(folder, failed)) {
        if (entry.path().extension() == ".md" || entry.path().extension() == ".txt")
            files.push_back(entry.path());
    }
    if (failed) throw IoError(folder, "can't be read: " + failed.message());
    if (files.empty()) throw IoError(folder, "has no .md or .txt file");
    std::sort(files.begin(), files.end());
    std::string text;
    for (const fs::path &file : files) {
        const Tensor bytes = dataset::read_bytes(file);
        text.append((const char *)bytes.raw(), bytes.bytes());
    }
    return text;
}

dataset::Dataset create_text_dataset(const std::string &text, int64_t length, int64_t batch_size,
                                     bool shuffle) {
    const int64_t rows = (int64_t(text.size()) - 1) / length;
    if (rows < batch_size) {
        throw AttrError("text", "the text has " + std::to_string(text.size()) +
                                    " bytes, expected at least " +
                                    std::to_string(batch_size * length + 1) + " for a batch of " +
                                    std::to_string(batch_size) + " x " + std::to_string(length));
    }
    const Tensor input = Tensor::empty({rows, length}, DType::i32);
    const Tensor target = Tensor::empty({rows, length}, DType::i32);
    for (int64_t i = 0; i < rows * length; i++) {
        input.data<int32_t>()[i] = (unsigned char)text[size_t(i)];
        target.data<int32_t>()[i] = (unsigned char)text[size_t(i) + 1];
    }
    return dataset::TensorDataset({{"input", input}, {"target", target}}, shuffle)
        .batch(batch_size, true);
}

}  // namespace halyard::examples
