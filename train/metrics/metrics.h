// Metrics: numbers about a network's outputs over a whole dataset. Names and values are
// MindSpore's.
//
//   Accuracy accuracy;
//   for (auto &row : data.create_dict_iterator()) accuracy.update(net(row[0]), row[1]);
//   accuracy.eval();
//
// For classifiers `outputs` are [N,C] logits or probabilities, the largest is the guess; labels are
// N class numbers or [N,C] one-hot. update() throws ShapeError where they don't fit each other,
// eval() AttrError before any update().
#pragma once
#include <string>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard {

class Metric {
public:
    virtual ~Metric() = default;
    virtual void clear() = 0;  // begin again
    virtual void update(const Tensor &outputs, const Tensor &label) = 0;
    virtual void update_loss(const Tensor &) {}  // what Model calls beside it, when there is a loss
    virtual bool needs_loss() const { return false; }
    virtual double eval() const = 0;
};

// The share of samples whose guess is their label.
class Accuracy : public Metric {
public:
    void clear() override { right_ = seen_ = 0; }
    void update(const Tensor &outputs, const Tensor &label) override;
    double eval() const override;

private:
    int64_t right_ = 0, seen_ = 0;
};

// The share of samples whose label is among the k largest outputs; of equal ones the first counts
// as larger.
class TopKCategoricalAccuracy : public Metric {
public:
    explicit TopKCategoricalAccuracy(int k);  // throws AttrError for k below 1
    void clear() override { right_ = seen_ = 0; }
    void update(const Tensor &outputs, const Tensor &label) override;
    double eval() const override;

private:
    int k_;
    int64_t right_ = 0, seen_ = 0;
};
struct Top1CategoricalAccuracy : TopKCategoricalAccuracy {
    Top1CategoricalAccuracy() : TopKCategoricalAccuracy(1) {}
};
struct Top5CategoricalAccuracy : TopKCategoricalAccuracy {
    Top5CategoricalAccuracy() : TopKCategoricalAccuracy(5) {}
};

// The mean of the batches' losses.
class Loss : public Metric {
public:
    void clear() override {
        sum_ = 0;
        batches_ = 0;
    }
    void update(const Tensor &, const Tensor &) override {}
    void update_loss(const Tensor &loss) override;  // its mean is the batch's
    bool needs_loss() const override { return true; }
    double eval() const override;

private:
    double sum_ = 0;
    int64_t batches_ = 0;
};

// The sum of all errors over the number of samples. Outputs and labels have as many elements.
class MeanError : public Metric {
public:
    void clear() override {
        sum_ = 0;
        seen_ = 0;
    }
    void update(const Tensor &outputs, const Tensor &label) override;
    double eval() const override;

protected:
    MeanError(const char *name, double (*error)(double difference)) : name_(name), error_(error) {}

private:
    const char *const name_;
    double (*const error_)(double);
    double sum_ = 0;
    int64_t seen_ = 0;
};
class MAE : public MeanError {  // of absolute errors
public:
    MAE();
};
class MSE : public MeanError {  // of their squares
public:
    MSE();
};

// How often label i (row) was taken for class k (column).
class ConfusionMatrix : public Metric {
public:
    void clear() override {
        counts_.clear();
        classes_ = 0;
    }
    // also throws ShapeError for another number of classes than before
    void update(const Tensor &outputs, const Tensor &label) override;
    std::vector<std::vector<int64_t>> matrix() const;  // throws as eval() does
    // the share of the diagonal: the accuracy
    double eval() const override;

protected:
    struct PerClass {
        double hits = 0, guessed = 0, labelled = 0;
    };
    std::vector<PerClass> per_class() const;

private:
    int64_t classes_ = 0;
    std::vector<int64_t> counts_;  // row by row
};

// Of each class hits over guesses, hits over labels, and (1 + beta^2) hits / (beta^2 labels +
// guesses); 0 where nothing was counted. eval() is the mean over the classes.
class Precision : public ConfusionMatrix {
public:
    std::vector<double> eval_classes() const;
    double eval() const override;
};
class Recall : public ConfusionMatrix {
public:
    std::vector<double> eval_classes() const;
    double eval() const override;
};
class Fbeta : public ConfusionMatrix {
public:
    explicit Fbeta(double beta);  // throws AttrError unless beta is more than 0
    std::vector<double> eval_classes() const;
    double eval() const override;

private:
    double beta_;
};
struct F1 : Fbeta {
    F1() : Fbeta(1) {}
};

}  // namespace halyard
