#include "train/metrics/occlusion_sensitivity.h"

#include <algorithm>

#include "registry/base/error.h"

namespace halyard {
namespace {

constexpr const char *metric = "occlusion_sensitivity";

// Returns the outputs for the class, one for each image.
std::vector<float> outputs_of(const nn::AnyCell &network, const Tensor &images, int64_t label) {
    const Tensor out = network(images);
    if (out.rank() != 2 || out.shape()[0] != images.shape()[0])
        throw ShapeError(metric, "outputs are " + out.shape().text() + ", expected [N,C]");
    const int64_t classes = out.shape()[1];
    if (label < 0 || label >= classes) {
        throw ShapeError(metric, "the label is " + std::to_string(label) + ", expected 0 to " +
                                     std::to_string(classes - 1));
    }
    return out.slice(1, label, label + 1).to_vector<float>();
}

// Moves on to the next element of a box, row by row.
void advance(Shape &at, const Shape &first, const Shape &extents) {
    for (int d = at.rank(); d-- > 0;) {
        if (++at[d] < first[d] + extents[d]) return;
        at[d] = first[d];
    }
}

}  // namespace

OcclusionSensitivity::OcclusionSensitivity(double pad_val, std::vector<int64_t> margin,
                                           int64_t n_batch, std::vector<int64_t> b_box)
    : pad_val_(pad_val), margin_(std::move(margin)), n_batch_(n_batch), b_box_(std::move(b_box)) {
    if (margin_.empty() || std::ranges::min(margin_) < 1) {
        throw AttrError(metric, "margin is " + (margin_.empty() ? "empty" : Shape(margin_).text()) +
                                    ", expected at least 1");
    }
    if (n_batch < 1)
        throw AttrError(metric, "n_batch is " + std::to_string(n_batch) + ", expected at least 1");
}

OcclusionSensitivity::Box OcclusionSensitivity::box_of(const Shape &image) const {
    Box box{Shape(std::vector<int64_t>(image.size())), image};
    if (b_box_.empty()) return box;
    if (b_box_.size() != 2 * image.size()) {
        throw ShapeError(metric, "b_box has " + std::to_string(b_box_.size()) +
                                     " values, expected " + std::to_string(2 * image.size()) +
                                     " for an image of " + image.text());
    }
    for (int d = 0; d < image.rank(); d++) {
        const int64_t first = std::max<int64_t>(b_box_[size_t(2 * d)], 0);
        const int64_t given = b_box_[size_t(2 * d + 1)];
        const int64_t last = given < 0 ? image[d] - 1 : given;
        if (last >= image[d] || first > last) {
            throw ShapeError(metric, "b_box is " + std::to_string(first) + " to " +
                                         std::to_string(last) + " in dimension " +
                                         std::to_string(d) + " of an image of " + image.text());
        }
        box.first[d] = first;
        box.extents[d] = last - first + 1;
    }
    return box;
}

Tensor OcclusionSensitivity::hidden_around(const Tensor &image, const Shape &at) const {
    const Tensor hidden = image.copy();
    Tensor part = hidden;
    for (int d = 0; d < at.rank(); d++) {
        const int64_t margin = margin_[margin_.size() == 1 ? 0 : size_t(d)];
        part = part.slice(d + 1, std::max<int64_t>(at[d] - margin, 0),
                          std::min(at[d] + margin, image.shape()[d + 1]));
    }
    part.assign(Tensor::scalar(pad_val_).expand(part.shape()));
    return hidden;
}

void OcclusionSensitivity::update(const nn::AnyCell &network, const Tensor &image, int64_t label) {
    if (image.rank() < 2 || image.shape()[0] != 1 || image.elements() == 0) {
        throw ShapeError(metric, "the image is " + image.shape().text() +
                                     ", expected [1,...] of one image");
    }
    const Shape places(image.shape().begin() + 1, image.shape().end());
    if (margin_.size() != 1 && margin_.size() != places.size()) {
        throw ShapeError(metric, "margin has " + std::to_string(margin_.size()) +
                                     " values, expected 1 or " + std::to_string(places.size()) +
                                     " for an image of " + places.text());
    }
    const Box box = box_of(places);
    const float whole = outputs_of(network, image, label)[0];
    const int64_t count = box.extents.elements();
    std::vector<float> differences;
    Shape at = box.first;
    while (int64_t(differences.size()) < count) {
        Shape batch = image.shape();
        batch[0] = std::min(n_batch_, count - int64_t(differences.size()));
        const Tensor images = Tensor::empty(batch, image.dtype());
        for (int64_t i = 0; i < batch[0]; i++) {
            images.slice(0, i, i + 1).assign(hidden_around(image, at));
            advance(at, box.first, box.extents);
        }
        for (const float v : outputs_of(network, images, label))
            differences.push_back(whole - v);
    }
    Shape squeezed;
    for (const int64_t extent : box.extents)
        if (extent > 1) squeezed.push_back(extent);
    differences_ = Tensor::from(differences, squeezed);
}

Tensor OcclusionSensitivity::eval() const {
    if (!differences_.defined()) throw AttrError(metric, "no image was given");
    return differences_;
}

}  // namespace halyard
