#include "train/formats/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "registry/base/error.h"
#include "train/data/indexed.h"
#include "train/vision/image.h"

namespace halyard::dataset {
namespace fs = std::filesystem;

namespace {

constexpr size_t at_once = 32;  // the number of images read and decoded at once

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    return text;
}

std::vector<std::string> checked_extensions(const std::vector<std::string> &extensions) {
    if (extensions.empty())
        throw AttrError("ImageFolderDataset", "extensions are none, expected some, as .png");
    std::vector<std::string> all;
    for (const std::string &e : extensions) {
        if (e.size() < 2 || e[0] != '.') {
            throw AttrError("ImageFolderDataset",
                            "extension is '" + e + "', expected a point and letters, as .png");
        }
        all.push_back(lower(e));
    }
    return all;
}

// Returns ".jpg, .jpeg or .png".
std::string in_words(const std::vector<std::string> &extensions) {
    std::string text = extensions[0];
    for (size_t i = 1; i < extensions.size(); i++)
        text += (i + 1 < extensions.size() ? ", " : " or ") + extensions[i];
    return text;
}

// Returns the type of an entry, following links. Throws IoError if it has none, as for a link to
// itself.
fs::file_type type_of(const fs::directory_entry &entry) {
    std::error_code failed;
    const fs::file_type type = entry.status(failed).type();
    if (failed && type != fs::file_type::not_found)
        throw IoError(entry.path(), "can't be read: " + failed.message());
    return type;
}

std::vector<fs::path> sorted_entries(const fs::path &dir,
                                     const std::function<bool(const fs::directory_entry &)> &keep) {
    std::error_code failed;
    std::vector<fs::path> all;
    for (fs::directory_iterator e(dir, failed), end; !failed && e != end; e.increment(failed))
        if (keep(*e)) all.push_back(e->path());
    if (failed) throw IoError(dir, "can't be read: " + failed.message());
    std::sort(all.begin(), all.end());
    return all;
}

}  // namespace

struct ImageFolderDataset::State : IndexedNode {
    struct File {
        std::string path;
        int label;
    };
    State(const std::string &dir, const ImageFolderOptions &o)
        : IndexedNode({"image", "label"}, sampler_of("ImageFolderDataset", o), at_once), options(o),
          classes(o.class_indexing) {
        exact = o.on_error == OnError::RAISE;
        if (o.num_parallel_workers < 0) {
            throw AttrError("ImageFolderDataset", "num_parallel_workers is " +
                                                      std::to_string(o.num_parallel_workers) +
                                                      ", expected at least 0");
        }
        workers = size_t(o.num_parallel_workers);
        const std::vector<std::string> extensions = checked_extensions(o.extensions);
        const auto is_image = [&](const fs::path &path) {
            return std::ranges::count(extensions, lower(path.extension())) > 0;
        };
        if (o.max_pixels != default_max_pixels && !o.decode)
            throw AttrError("ImageFolderDataset", "max_pixels without decode changes nothing");
        const auto is = [&](const fs::directory_entry &e, fs::file_type type) {
            try {
                return type_of(e) == type;
            } catch (const IoError &error) {
                if (exact) throw;
                skipped.add(error.what());
                return false;
            }
        };
        const auto folders = sorted_entries(
            dir, [&](const fs::directory_entry &e) { return is(e, fs::file_type::directory); });
        for (auto &[name, label] : classes) {
            if (std::error_code unknown; !fs::is_directory(fs::path(dir) / name, unknown)) {
                throw AttrError("ImageFolderDataset",
                                "class_indexing has " + name + ", which is no folder of " + dir);
            }
        }
        if (o.class_indexing.empty()) {
            for (auto &folder : folders)
                classes.emplace(folder.filename(), int(classes.size()));
        }
        for (auto &folder : folders) {
            const auto label = classes.find(folder.filename());
            if (label == classes.end()) continue;
            for (auto &path : sorted_entries(folder, [&](const fs::directory_entry &e) {
                     return is_image(e.path()) && is(e, fs::file_type::regular);
                 }))
                files.push_back({path, label->second});
        }
        if (files.empty())
            throw IoError(dir, "has no folder with a " + in_words(extensions) + " file");
    }
    int64_t rows() const override { return int64_t(files.size()); }
    std::optional<Row> row(int64_t i) const override {
        const File &file = files[size_t(i)];
        try {
            Tensor image = read_bytes(file.path);
            if (options.decode) image = decode_image(image, file.path, options.max_pixels);
            return Row(columns, {image, Tensor::scalar(file.label, DType::i32)},
                       {shared_from_this(), &file.path});
        } catch (const IoError &e) {
            if (options.on_error == OnError::RAISE) throw;
            skipped.add(e.what());
            return {};
        }
    }
    ImageFolderOptions options;
    std::map<std::string, int> classes;
    std::vector<File> files;
};

ImageFolderDataset::ImageFolderDataset(const std::string &dir, const ImageFolderOptions &options)
    : ImageFolderDataset(std::make_shared<const State>(dir, options)) {}

ImageFolderDataset::ImageFolderDataset(const std::shared_ptr<const State> &state)
    : Dataset(state), state_(state) {}

const std::map<std::string, int> &ImageFolderDataset::get_class_indexing() const {
    return state_->classes;
}

}  // namespace halyard::dataset
