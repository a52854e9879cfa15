#include "train/callbacks/summary_record.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "callbacks/summary.pb.h"
#include "registry/base/error.h"
#include "registry/base/log.h"
#include "train/formats/crc32c.h"
#include "train/vision/image.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

double wall_time() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// Returns TensorFlow's bucket limits: 1e-12 * 1.1^k on both sides of 0, up to 1e20, and the largest
// double.
const std::vector<double> &bucket_ends() {
    static const std::vector<double> ends = [] {
        std::vector<double> positive;
        for (double v = 1e-12; v < 1e20; v *= 1.1)
            positive.push_back(v);
        std::vector<double> all(positive.rbegin(), positive.rend());
        for (double &v : all)
            v = -v;
        all.push_back(0);
        all.insert(all.end(), positive.begin(), positive.end());
        all.push_back(1.7976931348623157e308);
        return all;
    }();
    return ends;
}

// The numbers of elements that fit no bucket.
struct NotFinite {
    int64_t nan = 0, infinite = 0;
};

NotFinite fill_histogram(const Tensor &t, summary::HistogramProto &h) {
    const std::vector<double> &ends = bucket_ends();
    std::vector<double> counts(ends.size());
    double least = INFINITY;
    double most = -INFINITY;
    double sum = 0, squares = 0, n = 0;
    NotFinite non_finite;
    for (const double v : t.to_vector<double>()) {
        non_finite.nan += std::isnan(v);
        non_finite.infinite += std::isinf(v);
        if (!std::isfinite(v)) continue;
        counts[size_t(std::upper_bound(ends.begin(), ends.end() - 1, v) - ends.begin())]++;
        least = std::min(least, v);
        most = std::max(most, v);
        sum += v;
        squares += v * v;
        n++;
    }
    h.set_min(n ? least : 0);
    h.set_max(n ? most : 0);
    h.set_num(n);
    h.set_sum(sum);
    h.set_sum_squares(squares);
    for (size_t i = 0; i < ends.size(); i++) {
        // A run of empty buckets is written as one, which ends where the next full one begins.
        const bool bounds = counts[i] || (i + 1 < ends.size() && counts[i + 1]);
        if (bounds) {
            h.add_bucket_limit(ends[i]);
            h.add_bucket(counts[i]);
        }
    }
    if (!n) {
        h.add_bucket_limit(ends.back());
        h.add_bucket(0);
    }
    return non_finite;
}

// Adds a scalar for each kind of non-finite elements, from the first step that has some.
void add_counts(const std::string &name, const NotFinite &non_finite, int64_t elements,
                summary::Summary &to) {
    const std::pair<const char *, int64_t> counts[] = {{"nan", non_finite.nan},
                                                       {"inf", non_finite.infinite}};
    for (auto &[what, count] : counts) {
        if (count == 0) continue;
        summary::Summary::Value &value = *to.add_value();
        value.set_tag(name + "/" + what);
        value.set_simple_value(float(count));
    }
    if (non_finite.nan + non_finite.infinite > 0) {
        log(LogLevel::warning, "summary",
            "the histogram " + name + " leaves out " + std::to_string(non_finite.nan) +
                " NaN and " + std::to_string(non_finite.infinite) + " infinite of " +
                std::to_string(elements) + " elements");
    }
}

// Adds the first three images of t[N,C,H,W].
void add_images(const std::string &name, const Tensor &t, summary::Summary &to) {
    constexpr int64_t most = 3;
    const int64_t channels = t.rank() == 4 ? t.shape()[1] : 0;
    if (channels != 1 && channels != 3 && channels != 4) {
        throw ShapeError("summary", "image " + name + " is " + t.shape().text() +
                                        ", expected [N,C,H,W] with C 1, 3 or 4");
    }
    if (t.elements() == 0) {
        throw ShapeError("summary",
                         "image " + name + " is " + t.shape().text() + ", which has no element");
    }
    for (int64_t i = 0; i < std::min(most, t.shape()[0]); i++) {
        const Tensor hwc = t.slice(0, i, i + 1).squeeze(0).transpose({1, 2, 0});
        const std::vector<double> values = hwc.to_vector<double>();
        double black = 0, scale = 1;
        if (t.dtype() != DType::u8) {
            double low = INFINITY;
            double high = -INFINITY;
            for (const double v : values) {
                if (std::isfinite(v)) {
                    low = std::min(low, v);
                    high = std::max(high, v);
                }
            }
            black = low;
            scale = high > low ? 255 / (high - low) : 0;
        }
        const Tensor pixels = Tensor::empty(hwc.shape(), DType::u8);
        auto *pixel = pixels.data<uint8_t>();
        for (const double v : values) {
            *pixel++ = uint8_t(
                std::isfinite(v) ? std::clamp(std::round((v - black) * scale), 0.0, 255.0) : 0);
        }
        summary::Summary::Value &value = *to.add_value();
        value.set_tag(name + "/" + std::to_string(i));
        summary::Summary::Image &image = *value.mutable_image();
        image.set_height(int(hwc.shape()[0]));
        image.set_width(int(hwc.shape()[1]));
        image.set_colorspace(int(channels));
        image.set_encoded_image_string(dataset::encode_png(pixels, name));
    }
}

}  // namespace

struct SummaryRecord::State {
    std::string path;
    std::ofstream file;
    std::optional<int64_t> max_file_size;
    int64_t written = 0;
    bool full = false;
    summary::Summary waiting;

    // TFRecord's framing: length, its checksum, the bytes, their checksum; little endian.
    void write(const summary::Event &event) {
        if (!file.is_open()) throw IoError(path, "is closed");
        const std::string bytes = event.SerializeAsString();
        const auto little = [](uint64_t v, int n) {
            std::string s;
            for (int i = 0; i < n; i++)
                s += char(v >> 8 * i);
            return s;
        };
        const std::string length = little(bytes.size(), 8);
        const std::string framed = length + little(masked_crc32c(length), 4) + bytes +
                                   little(masked_crc32c(bytes), 4);
        if (max_file_size && written + int64_t(framed.size()) > *max_file_size) {
            if (!full) {
                log(LogLevel::warning, "summary",
                    path + " has reached max_file_size, " + std::to_string(*max_file_size) +
                        " bytes: what follows is left out");
            }
            full = true;
            return;
        }
        file << framed << std::flush;
        if (!file) throw IoError(path, "can't be written");
        written += int64_t(framed.size());
    }
};

SummaryRecord::SummaryRecord(const std::string &log_dir, const SummaryRecordOptions &options)
    : state_(std::make_shared<State>()) {
    static std::atomic<int> number = 0;
    std::error_code failed;
    fs::create_directories(log_dir, failed);
    if (failed) throw IoError(log_dir, "can't be made: " + failed.message());
    char host[256] = "host";
    gethostname(host, sizeof host - 1);
    State &s = *state_;
    s.max_file_size = options.max_file_size;
    s.path = (fs::path(log_dir) /
              (options.file_prefix + ".out.tfevents." + std::to_string(int64_t(wall_time())) + "." +
               host + "." + std::to_string(getpid()) + "." + std::to_string(number++) +
               options.file_suffix))
                 .string();
    // The file must be new. Its name is predictable, and an existing link or file must not be
    // written.
    const int made = ::open(s.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                            0666);
    if (made >= 0) ::close(made);
    if (made >= 0) s.file.open(s.path, std::ios::binary | std::ios::app);
    if (!s.file.is_open()) throw IoError(s.path, "can't be written");
    summary::Event first;
    first.set_wall_time(wall_time());
    first.set_file_version("brain.Event:2");
    s.write(first);
}

void SummaryRecord::add_value(const std::string &plugin, const std::string &name,
                              const Tensor &value) {
    if (name.empty()) throw AttrError("summary", "a value has an empty name");
    summary::Summary &to = state_->waiting;
    if (plugin == "scalar") {
        const double v = value.item();
        summary::Summary::Value &added = *to.add_value();
        added.set_tag(name);
        added.set_simple_value(float(v));
    } else if (plugin == "histogram") {
        summary::Summary::Value &added = *to.add_value();
        added.set_tag(name);
        add_counts(name, fill_histogram(value, *added.mutable_histo()), value.elements(), to);
    } else if (plugin == "image") {
        add_images(name, value, to);
    } else {
        throw AttrError("summary", "plugin of " + name + " is '" + plugin +
                                       "', expected scalar, histogram or image");
    }
}

void SummaryRecord::add_text(const std::string &name, const std::string &markdown) {
    summary::Summary::Value &added = *state_->waiting.add_value();
    added.set_tag(name);
    added.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
    constexpr int strings = 7;
    added.mutable_tensor()->set_dtype(strings);
    added.mutable_tensor()->add_string_val(markdown);
}

void SummaryRecord::record(int64_t step) {
    summary::Event event;
    event.set_wall_time(wall_time());
    event.set_step(step);
    event.mutable_summary()->Swap(&state_->waiting);
    state_->waiting.Clear();
    state_->write(event);
}

void SummaryRecord::flush() {
    state_->file.flush();
}
void SummaryRecord::close() {
    state_->file.close();
}
const std::string &SummaryRecord::path() const {
    return state_->path;
}

}  // namespace halyard
