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

// Perplexity counts probabilities below this one as this one, so that their logarithm is finite.
constexpr double min_probability = 1e-10;

// Counts the runs of at most `longest` words in a sentence.
Counts count_ngrams(const Sentence &words, int longest) {
    Counts counts;
    for (size_t from = 0; from < words.size(); from++) {
        const size_t longest_here = std::min(size_t(longest), words.size() - from);
        for (size_t n = 1; n <= longest_here; n++) {
            counts[Sentence(words.begin() + int64_t(from), words.begin() + int64_t(from + n))]++;
        }
    }
    return counts;
}

// Returns the length of the reference whose length is nearest to `words`. Of equally near ones it
// is the first one's.
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

void Perplexity::update(const Tensor &probabilities, const Tensor &label) {
    const int64_t classes = probabilities.rank() ? probabilities.shape()[probabilities.rank() - 1]
                                                 : 0;
    if (classes < 1 || label.elements() * classes != probabilities.elements()) {
        throw ShapeError("perplexity", "probabilities are " + probabilities.shape().text() +
                                           " and labels " + label.shape().text() +
                                           ", expected one label per row");
    }
    const std::vector<double> values = probabilities.to_vector<double>();
    const std::vector<int64_t> labels = label.to_vector<int64_t>();
    // All labels are checked first, so that a batch is counted whole or not at all.
    for (const int64_t l : labels) {
        if (!is_ignored(l) && (l < 0 || l >= classes)) {
            throw ShapeError("perplexity", "a label is " + std::to_string(l) + ", expected 0 to " +
                                               std::to_string(classes - 1));
        }
    }
    for (size_t row = 0; row < labels.size(); row++) {
        if (is_ignored(labels[row])) continue;
        loss_ -= std::log(
            std::max(min_probability, values[row * size_t(classes) + size_t(labels[row])]));
        labels_++;
    }
}

double Perplexity::eval() const {
    if (labels_ == 0) throw AttrError("perplexity", "no label was counted");
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
        Counts max_counts;  // the largest count of each n-gram in one reference
        for (const Sentence &reference : references[i]) {
            for (const auto &[ngram, count] : count_ngrams(reference, n_gram_))
                max_counts[ngram] = std::max(max_counts[ngram], count);
        }
        for (const auto &[ngram, count] : count_ngrams(candidates[i], n_gram_)) {
            const auto in_reference = max_counts.find(ngram);
            counted_[ngram.size() - 1] += count;
            if (in_reference != max_counts.end())
                shared_[ngram.size() - 1] += std::min(count, in_reference->second);
        }
    }
    updated_ = true;
}

double BleuScore::eval() const {
    if (!updated_) throw AttrError("bleu_score", "no sentence was given");
    double logarithms = 0;
    for (size_t n = 0; n < size_t(n_gram_); n++) {
        // The score is then 0 even with `smooth`, as MindSpore's is.
        if (shared_[n] == 0) return 0;
        logarithms += std::log(smooth_ ? (shared_[n] + 1) / (counted_[n] + 1)
                                       : shared_[n] / counted_[n]);
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
        throw ShapeError("cosine_similarity",
                         "rows have shape " + rows.shape().text() + ", expected rank 2");
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
