#include "train/metrics/text_metrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "registry/base/error.h"

namespace halyard {
namespace {

using Sentence = BleuScore::Sentence;
using Counts = std::map<Sentence, int>;

// Counts the runs of at most `longest` words in a sentence.
Counts count_ngrams(const Sentence &words, int longest) {
    Counts counts;
    for (size_t from = 0; from < words.size(); from++) {
        const size_t most = std::min(size_t(longest), words.size() - from);
        for (size_t n = 1; n <= most; n++) {
            counts[Sentence(words.begin() + int64_t(from), words.begin() + int64_t(from + n))]++;
        }
    }
    return counts;
}

// Returns the length of the reference that is nearest to `words`, the first of equally near ones.
size_t nearest_length(size_t words, const std::vector<Sentence> &references) {
    const auto distance = [&](const Sentence &s) {
        return s.size() > words ? s.size() - words : words - s.size();
    };
    return std::min_element(
               references.begin(), references.end(),
               [&](const Sentence &a, const Sentence &b) { return distance(a) < distance(b); })
        ->size();
}

double dot(const std::vector<double> &a, const std::vector<double> &b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void check_choice(const char *metric, const char *name, const std::string &value,
                  std::initializer_list<const char *> choices) {
    std::string expected;
    for (const char *choice : choices) {
        if (value == choice) return;
        expected += (expected.empty() ? "" : ", ") + std::string(choice);
    }
    throw AttrError(metric, std::string(name) + " is " + value + ", expected one of " + expected);
}

}  // namespace

void Perplexity::clear() {
    loss_ = 0;
    labels_ = 0;
}

void Perplexity::update(const Tensor &outputs, const Tensor &label) {
    const int64_t classes = outputs.rank() ? outputs.shape()[outputs.rank() - 1] : 0;
    if (classes < 1 || label.elements() * classes != outputs.elements()) {
        throw ShapeError("perplexity", "outputs are " + outputs.shape().text() + " and labels " +
                                           label.shape().text() + ", expected one label per row");
    }
    const std::vector<double> probabilities = outputs.to_vector<double>();
    const std::vector<int64_t> labels = label.to_vector<int64_t>();
    for (size_t row = 0; row < labels.size(); row++) {
        if (ignore_label_ && labels[row] == *ignore_label_) continue;
        if (labels[row] < 0 || labels[row] >= classes) {
            throw ShapeError("perplexity",
                             "a label is " + std::to_string(labels[row]) +
                                 ", expected an integer in [0, C=" + std::to_string(classes) + ")");
        }
        loss_ -= std::log(
            std::max(1e-10, probabilities[row * size_t(classes) + size_t(labels[row])]));
        labels_++;
    }
}

double Perplexity::eval() const {
    if (labels_ == 0) throw AttrError("perplexity", "no sample was given");
    return std::exp(loss_ / double(labels_));
}

BleuScore::BleuScore(int n_gram, bool smooth) : n_gram_(n_gram), smooth_(smooth) {
    if (n_gram < 1 || n_gram > 4)
        throw AttrError("bleu_score", "n_gram is " + std::to_string(n_gram) + ", expected 1 to 4");
}

void BleuScore::clear() {
    *this = BleuScore(n_gram_, smooth_);
}

void BleuScore::update(const std::vector<Sentence> &candidates,
                       const std::vector<std::vector<Sentence>> &references) {
    if (candidates.size() != references.size()) {
        throw ShapeError("bleu_score", "there are " + std::to_string(candidates.size()) +
                                           " candidates and references for " +
                                           std::to_string(references.size()));
    }
    for (size_t i = 0; i < candidates.size(); i++) {
        if (references[i].empty())
            throw ShapeError("bleu_score", "candidate " + std::to_string(i) + " has no reference");
    }
    for (size_t i = 0; i < candidates.size(); i++) {
        candidate_words_ += double(candidates[i].size());
        reference_words_ += double(nearest_length(candidates[i].size(), references[i]));
        Counts most;  // the largest count of each n-gram in one reference
        for (const Sentence &reference : references[i]) {
            for (const auto &[ngram, count] : count_ngrams(reference, n_gram_))
                most[ngram] = std::max(most[ngram], count);
        }
        for (const auto &[ngram, count] : count_ngrams(candidates[i], n_gram_)) {
            const auto in_reference = most.find(ngram);
            all_[ngram.size() - 1] += count;
            if (in_reference != most.end())
                shared_[ngram.size() - 1] += std::min(count, in_reference->second);
        }
    }
    updated_ = true;
}

double BleuScore::eval() const {
    if (!updated_) throw AttrError("bleu_score", "no sentence was given");
    double logarithms = 0;
    for (size_t n = 0; n < size_t(n_gram_); n++) {
        if (shared_[n] == 0) return 0;
        logarithms += std::log(smooth_ ? (shared_[n] + 1) / (all_[n] + 1) : shared_[n] / all_[n]);
    }
    const double brevity = candidate_words_ > reference_words_
                               ? 1
                               : std::exp(1 - reference_words_ / candidate_words_);
    return brevity * std::exp(logarithms / n_gram_);
}

CosineSimilarity::CosineSimilarity(std::string similarity, std::string reduction,
                                   bool zero_diagonal)
    : similarity_(std::move(similarity)), reduction_(std::move(reduction)),
      zero_diagonal_(zero_diagonal) {
    check_choice("cosine_similarity", "similarity", similarity_, {"cosine", "dot"});
    check_choice("cosine_similarity", "reduction", reduction_, {"none", "sum", "mean"});
}

void CosineSimilarity::update(const Tensor &rows) {
    if (rows.rank() != 2) {
        throw ShapeError("cosine_similarity", "rank is " + std::to_string(rows.rank()) +
                                                  ", expected 2: " + rows.shape().text());
    }
    const std::vector<double> values = rows.to_vector<double>();
    const int64_t columns = rows.shape()[1];
    rows_.clear();
    for (int64_t i = 0; i < rows.shape()[0]; i++)
        rows_.emplace_back(values.begin() + i * columns, values.begin() + (i + 1) * columns);
    if (similarity_ == "dot") return;
    for (std::vector<double> &row : rows_) {
        const double length = std::sqrt(dot(row, row));
        for (double &v : row)
            v /= length;
    }
}

Tensor CosineSimilarity::eval() const {
    if (rows_.empty()) throw AttrError("cosine_similarity", "no row was given");
    const auto n = int64_t(rows_.size());
    std::vector<double> products;
    std::vector<double> reduced;
    for (size_t i = 0; i < rows_.size(); i++) {
        double sum = 0;
        for (size_t k = 0; k < rows_.size(); k++) {
            products.push_back(zero_diagonal_ && i == k ? 0 : dot(rows_[i], rows_[k]));
            sum += products.back();
        }
        reduced.push_back(reduction_ == "mean" ? sum / double(n) : sum);
    }
    return reduction_ == "none" ? Tensor::from(products, {n, n}) : Tensor::from(reduced, {n});
}

}  // namespace halyard
