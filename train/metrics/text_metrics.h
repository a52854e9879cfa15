// Metrics of language models and translations. Names and values are MindSpore's.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "train/metrics/metrics.h"

namespace halyard {

// exp of the mean negative log probability of the labels. Outputs are probabilities [..,C], labels
// a class number for each row. Probabilities below 1e-10 count as 1e-10; labels equal to
// ignore_label are not counted.
class Perplexity : public Metric {
public:
    explicit Perplexity(std::optional<int64_t> ignore_label = {}) : ignore_label_(ignore_label) {}
    void clear() override;
    // Also throws ShapeError for a label outside [0, C). Then nothing of the batch is counted.
    void update(const Tensor &probabilities, const Tensor &label) override;
    double eval() const override;

private:
    bool is_ignored(int64_t label) const { return ignore_label_ && label == *ignore_label_; }

    std::optional<int64_t> ignore_label_;
    double loss_ = 0;
    int64_t labels_ = 0;
};

// The BLEU score of translations: the geometric mean, for 1 to n_gram words, of the shares of their
// n-grams that a reference contains, with a penalty for translations shorter than the nearest
// reference (Papineni et al., 2002). It is 0 if for one n no n-gram is shared with a reference.
class BleuScore {
public:
    using Sentence = std::vector<std::string>;

    // With `smooth`, 1 is added to each count, unless no n-gram is shared. Throws AttrError unless
    // n_gram is 1 to 4.
    explicit BleuScore(int n_gram = 4, bool smooth = false);
    void clear();
    // Each candidate has one or more references. Throws ShapeError unless there are as many lists
    // of references as candidates.
    void update(const std::vector<Sentence> &candidates,
                const std::vector<std::vector<Sentence>> &references);
    double eval() const;  // throws AttrError before any update()

private:
    int n_gram_;
    bool smooth_;
    // Index n - 1: the number of candidates' n-grams that a reference contains, and of all of them.
    std::array<double, 4> shared_{};
    std::array<double, 4> counted_{};
    double candidate_words_ = 0;
    double reference_words_ = 0;
    bool updated_ = false;
};

// How alike rows of a matrix are: [N,N] dot products of the rows of [N,C], of unit length for
// "cosine".
class CosineSimilarity {
public:
    // similarity: "cosine" or "dot"; reduction: "none", or "sum" or "mean" of each row. Throws
    // AttrError for others.
    explicit CosineSimilarity(std::string similarity = "cosine", std::string reduction = "none",
                              bool zero_diagonal = true);
    void clear() { rows_.clear(); }
    // Replaces the rows of an earlier update, as in MindSpore. For "cosine", a row of zeros has no
    // direction, and its results are NaN. Throws ShapeError unless the rank of `rows` is 2.
    void update(const Tensor &rows);
    // Returns f64[N,N], or f64[N] when reduced. Throws AttrError before any update(), or after one
    // without rows.
    Tensor eval() const;

private:
    std::string similarity_;
    std::string reduction_;
    bool zero_diagonal_;
    std::vector<std::vector<double>> rows_;
};

}  // namespace halyard
