#include "train/metrics/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "registry/base/error.h"

namespace halyard {
namespace {

std::string both(const Tensor &outputs, const Tensor &label) {
    return "outputs are " + outputs.shape().text() + " and labels " + label.shape().text();
}

int64_t classes_of(const char *metric, const Tensor &outputs, const Tensor &label) {
    if (outputs.rank() != 2 || outputs.shape()[1] < 1)
        throw ShapeError(metric, both(outputs, label) + ", expected outputs [N,C]");
    return outputs.shape()[1];
}

size_t largest(const std::vector<double> &v, size_t from, size_t n) {
    return size_t(std::max_element(v.begin() + int64_t(from), v.begin() + int64_t(from + n)) -
                  v.begin()) -
           from;
}

// Returns the class numbers. Throws ShapeError unless they are within [0, C).
std::vector<size_t> labels_of(const char *metric, const Tensor &outputs, const Tensor &label) {
    const auto classes = size_t(classes_of(metric, outputs, label));
    const auto samples = size_t(outputs.shape()[0]);
    const std::vector<double> values = label.to_vector<double>();
    std::vector<size_t> all;
    if (label.rank() == 2 && label.shape() == outputs.shape() && classes > 1) {
        for (size_t i = 0; i < samples; i++)
            all.push_back(largest(values, i * classes, classes));
        return all;
    }
    if (values.size() != samples)
        throw ShapeError(metric, both(outputs, label) + ", expected one label per row");
    for (double v : values) {
        if (!(v >= 0 && v < double(classes)) || v != std::floor(v)) {
            throw ShapeError(metric, "a label is " + std::to_string(v) +
                                         ", expected an integer from 0 to " +
                                         std::to_string(classes - 1));
        }
        all.push_back(size_t(v));
    }
    return all;
}

// The classes of each sample, where a sample may be a position of a map.
struct Classified {
    size_t classes;
    std::vector<size_t> predicted, labels;
};

// Moves the classes of [N,C,...] to the end.
Tensor classes_last(const Tensor &t) {
    std::vector<int> order{0};
    for (int d = 2; d < t.rank(); d++)
        order.push_back(d);
    order.push_back(1);
    return t.transpose(order);
}

// Returns the outputs [N,C,...] as rows of C, and likewise a label of the same shape. Throws
// ShapeError for outputs of a rank below 2.
std::pair<Tensor, Tensor> as_rows(const char *metric, const Tensor &outputs, const Tensor &label) {
    if (outputs.rank() < 2 || outputs.shape()[1] < 1)
        throw ShapeError(metric, both(outputs, label) + ", expected outputs [N,C] or [N,C,...]");
    const int64_t classes = outputs.shape()[1];
    if (outputs.rank() == 2) return {outputs, label};
    Shape places{outputs.shape()[0]};
    for (int d = 2; d < outputs.rank(); d++)
        places.push_back(outputs.shape()[d]);
    const Shape flat{places.elements(), classes};
    const Tensor rows = classes_last(outputs).contiguous().reshape(flat);
    if (label.shape() == outputs.shape())
        return {rows, classes_last(label).contiguous().reshape(flat)};
    if (!(label.shape() == places)) {
        throw ShapeError(metric, both(outputs, label) + ", expected labels " + places.text() +
                                     " or one-hot labels");
    }
    return {rows, label.contiguous().reshape({places.elements()})};
}

Classified classified(const char *metric, const Tensor &outputs, const Tensor &label) {
    const auto [rows, labels] = as_rows(metric, outputs, label);
    Classified all{size_t(rows.shape()[1]), {}, labels_of(metric, rows, labels)};
    const std::vector<double> values = rows.to_vector<double>();
    for (size_t i = 0; i < all.labels.size(); i++)
        all.predicted.push_back(largest(values, i * all.classes, all.classes));
    return all;
}

// Samples with any number of classes, row by row.
struct Multilabelled {
    size_t classes;
    std::vector<double> predicted, labelled;  // 1 where the sample is of the class, else 0
};

Multilabelled multilabelled(const char *metric, const Tensor &outputs, const Tensor &label) {
    if (!(outputs.shape() == label.shape()))
        throw ShapeError(metric, both(outputs, label) + ", expected the same shape");
    const auto [predicted, labelled] = as_rows(metric, outputs, label);
    Multilabelled all{size_t(predicted.shape()[1]), predicted.to_vector<double>(),
                      labelled.to_vector<double>()};
    for (const auto *values : {&all.predicted, &all.labelled}) {
        for (const double v : *values) {
            if (v != 0 && v != 1) {
                throw ShapeError(metric,
                                 std::string(values == &all.labelled ? "a label" : "an output") +
                                     " is " + std::to_string(v) + ", expected 0 or 1");
            }
        }
    }
    return all;
}

Labels labels_named(const char *metric, const std::string &eval_type) {
    if (eval_type == "classification") return Labels::single;
    if (eval_type == "multilabel") return Labels::multiple;
    throw AttrError(metric,
                    "eval_type is " + eval_type + ", expected classification or multilabel");
}

double share(const char *metric, double part, int64_t all) {
    if (all == 0) throw AttrError(metric, "no sample was given");
    return part / double(all);
}

double mean(const std::vector<double> &v) {
    return std::accumulate(v.begin(), v.end(), 0.0) / double(v.size());
}

int64_t samples_of(const Tensor &label) {
    return label.rank() ? label.shape()[0] : 1;
}

}  // namespace

Accuracy::Accuracy(const std::string &eval_type) : labels_(labels_named("accuracy", eval_type)) {}

void Accuracy::update(const Tensor &outputs, const Tensor &label) {
    if (labels_ == Labels::single) {
        const Classified samples = classified("accuracy", outputs, label);
        for (size_t i = 0; i < samples.labels.size(); i++)
            right_ += samples.predicted[i] == samples.labels[i];
        seen_ += int64_t(samples.labels.size());
        return;
    }
    const Multilabelled samples = multilabelled("accuracy", outputs, label);
    for (size_t i = 0; i < samples.predicted.size(); i += samples.classes) {
        right_ += std::equal(samples.predicted.begin() + int64_t(i),
                             samples.predicted.begin() + int64_t(i + samples.classes),
                             samples.labelled.begin() + int64_t(i));
        seen_++;
    }
}
double Accuracy::eval() const {
    return share("accuracy", double(right_), seen_);
}

TopKCategoricalAccuracy::TopKCategoricalAccuracy(int k) : k_(k) {
    if (k < 1)
        throw AttrError("top_k_accuracy", "k is " + std::to_string(k) + ", expected at least 1");
}
void TopKCategoricalAccuracy::update(const Tensor &outputs, const Tensor &label) {
    const auto labels = labels_of("top_k_accuracy", outputs, label);
    const auto values = outputs.to_vector<double>();
    const auto classes = size_t(outputs.shape()[1]);
    for (size_t i = 0; i < labels.size(); i++) {
        const double own = values[i * classes + labels[i]];
        int ahead = 0;
        for (size_t k = 0; k < classes; k++) {
            const double other = values[i * classes + k];
            ahead += other > own || (other == own && k < labels[i]);
        }
        right_ += ahead < k_ && !std::isnan(own);
        seen_++;
    }
}
double TopKCategoricalAccuracy::eval() const {
    return share("top_k_accuracy", double(right_), seen_);
}

void Loss::update_loss(const Tensor &loss) {
    sum_ += mean(loss.to_vector<double>());
    batches_++;
}
double Loss::eval() const {
    return share("loss", sum_, batches_);
}

void MeanError::update(const Tensor &outputs, const Tensor &label) {
    const std::vector<double> y = outputs.to_vector<double>();
    const std::vector<double> t = label.to_vector<double>();
    if (y.size() != t.size())
        throw ShapeError(name_, both(outputs, label) + ", expected as many elements");
    double sum = 0;
    for (size_t i = 0; i < y.size(); i++)
        sum += error_(t[i] - y[i]);
    sum_ += sum;
    seen_ += samples_of(label);
}
double MeanError::eval() const {
    return share(name_, sum_, seen_);
}

MAE::MAE() : MeanError("mae", [](double e) { return std::fabs(e); }) {}
MSE::MSE() : MeanError("mse", [](double e) { return e * e; }) {}

void ConfusionMatrix::update(const Tensor &outputs, const Tensor &label) {
    const auto labels = labels_of("confusion_matrix", outputs, label);
    const int64_t classes = outputs.shape()[1];
    if (classes_ && classes != classes_) {
        throw ShapeError("confusion_matrix", "outputs have C=" + std::to_string(classes) +
                                                 " classes, before they had " +
                                                 std::to_string(classes_));
    }
    classes_ = classes;
    counts_.resize(size_t(classes * classes));
    const auto values = outputs.to_vector<double>();
    for (size_t i = 0; i < labels.size(); i++) {
        counts_[labels[i] * size_t(classes) +
                largest(values, i * size_t(classes), size_t(classes))]++;
    }
}
std::vector<std::vector<int64_t>> ConfusionMatrix::matrix() const {
    share("confusion_matrix", 0, classes_);
    std::vector<std::vector<int64_t>> rows;
    for (auto at = counts_.begin(); at != counts_.end(); at += classes_)
        rows.emplace_back(at, at + classes_);
    return rows;
}
std::vector<ConfusionMatrix::PerClass> ConfusionMatrix::per_class() const {
    const auto counts = matrix();
    std::vector<PerClass> all(counts.size());
    for (size_t i = 0; i < counts.size(); i++) {
        for (size_t k = 0; k < counts.size(); k++) {
            const auto n = double(counts[i][k]);
            all[i].labelled += n;
            all[k].predicted += n;
            if (i == k) all[i].correct += n;
        }
    }
    return all;
}
double ConfusionMatrix::eval() const {
    double correct = 0, all = 0;
    for (auto &c : per_class()) {
        correct += c.correct;
        all += c.labelled;
    }
    return correct / all;
}

ShareOfClasses::ShareOfClasses(const char *name, const std::string &eval_type, bool of_predicted)
    : name_(name), labels_(labels_named(name, eval_type)), of_predicted_(of_predicted) {}

void ShareOfClasses::keep_classes(size_t classes) {
    if (classes_ && classes != classes_) {
        throw ShapeError(name_, "outputs have C=" + std::to_string(classes) +
                                    " classes, before they had " + std::to_string(classes_));
    }
    classes_ = classes;
}

void ShareOfClasses::update(const Tensor &outputs, const Tensor &label) {
    if (labels_ == Labels::multiple) {
        const Multilabelled samples = multilabelled(name_, outputs, label);
        keep_classes(samples.classes);
        for (size_t i = 0; i < samples.predicted.size(); i++) {
            if (i % samples.classes == 0) counts_.emplace_back();
            counts_.back().correct += samples.predicted[i] * samples.labelled[i];
            counts_.back().predicted += samples.predicted[i];
            counts_.back().labelled += samples.labelled[i];
        }
        return;
    }
    const Classified samples = classified(name_, outputs, label);
    keep_classes(samples.classes);
    counts_.resize(samples.classes);
    for (size_t i = 0; i < samples.labels.size(); i++) {
        counts_[samples.labels[i]].labelled++;
        counts_[samples.predicted[i]].predicted++;
        counts_[samples.labels[i]].correct += samples.labels[i] == samples.predicted[i];
    }
}

std::vector<double> ShareOfClasses::eval_classes() const {
    share(name_, 0, int64_t(counts_.size()));
    std::vector<double> all;
    for (const Count &c : counts_) {
        const double of = of_predicted_ ? c.predicted : c.labelled;
        all.push_back(of > 0 ? c.correct / of : 0);
    }
    return all;
}
double ShareOfClasses::eval() const {
    return mean(eval_classes());
}

Fbeta::Fbeta(double beta) : beta_(beta) {
    if (!(beta > 0))
        throw AttrError("fbeta", "beta is " + std::to_string(beta) + ", expected more than 0");
}
std::vector<double> Fbeta::eval_classes() const {
    std::vector<double> all;
    for (auto &c : per_class()) {
        const double of = beta_ * beta_ * c.labelled + c.predicted;
        all.push_back(of > 0 ? (1 + beta_ * beta_) * c.correct / of : 0);
    }
    return all;
}
double Fbeta::eval() const {
    return mean(eval_classes());
}

}  // namespace halyard
