// Metrics: numbers computed from a network's outputs over a dataset. Names and values are
// MindSpore's.
//
//   Accuracy accuracy;
//   for (auto &row : data.create_dict_iterator()) accuracy.update(net(row[0]), row[1]);
//   accuracy.eval();
//
// Metrics of classifiers take outputs [N,C], logits or probabilities whose largest is the
// prediction, and labels, N class numbers or [N,C] one-hot. update() throws ShapeError if they
// don't fit each other, eval() AttrError before any update(). Accuracy, Precision and Recall also
// take a sample for each position of a map: outputs [N,C,...] and labels [N,...] or one-hot.
#pragma once
#include <string>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard {

class Metric {
public:
    virtual ~Metric() = default;
    virtual void clear() = 0;
    virtual void update(const Tensor &outputs, const Tensor &label) = 0;
    // Model calls it after update() if there is a loss function.
    virtual void update_loss(const Tensor &) {}
    virtual bool needs_loss() const { return false; }
    virtual double eval() const = 0;
};

// What a classifier predicts, by MindSpore's eval_type: one class of a sample ("classification"),
// or any number of them ("multilabel"). Then outputs and labels are of the same shape, with 1 where
// the sample is of the class, else 0.
enum class Labels { single, multiple };

// The share of samples whose prediction is their label, for "multilabel" in all classes.
class Accuracy : public Metric {
public:
    // Throws AttrError unless eval_type is "classification" or "multilabel".
    explicit Accuracy(const std::string &eval_type = "classification");
    void clear() override { right_ = seen_ = 0; }
    void update(const Tensor &outputs, const Tensor &label) override;
    double eval() const override;

private:
    Labels labels_;
    int64_t right_ = 0, seen_ = 0;
};

// The share of samples whose label is among the k largest outputs. The first of equal outputs
// counts as larger.
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
    void update_loss(const Tensor &loss) override;
    bool needs_loss() const override { return true; }
    double eval() const override;

private:
    double sum_ = 0;
    int64_t batches_ = 0;
};

// The sum of all errors divided by the number of samples. Outputs and labels have equal numbers of
// elements.
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
// The mean absolute error.
class MAE : public MeanError {
public:
    MAE();
};
// The mean squared error.
class MSE : public MeanError {
public:
    MSE();
};

// Counts how often label i (row) was predicted as class k (column).
class ConfusionMatrix : public Metric {
public:
    void clear() override {
        counts_.clear();
        classes_ = 0;
    }
    // Also throws ShapeError if the number of classes changes.
    void update(const Tensor &outputs, const Tensor &label) override;
    // Throws as eval() does.
    std::vector<std::vector<int64_t>> matrix() const;
    // Returns the accuracy: the share of the diagonal.
    double eval() const override;

protected:
    struct PerClass {
        double correct = 0, predicted = 0, labelled = 0;
    };
    std::vector<PerClass> per_class() const;

private:
    int64_t classes_ = 0;
    std::vector<int64_t> counts_;  // row by row
};

// The base of Precision and Recall: the share of the classes predicted for a sample that are right,
// or of the sample's classes that were predicted.
class ShareOfClasses : public Metric {
public:
    void clear() override {
        counts_.clear();
        classes_ = 0;
    }
    // Also throws ShapeError if the number of classes changes.
    void update(const Tensor &outputs, const Tensor &label) override;
    // Returns a share for each class or, for "multilabel", for each sample; 0 if the divisor is 0.
    std::vector<double> eval_classes() const;
    // Returns the mean of these.
    double eval() const override;

protected:
    ShareOfClasses(const char *name, const std::string &eval_type, bool of_predicted);

private:
    struct Count {
        double correct = 0, predicted = 0, labelled = 0;
    };
    void keep_classes(size_t classes);

    const char *name_;
    Labels labels_;
    bool of_predicted_;
    size_t classes_ = 0;
    std::vector<Count> counts_;  // by class, or by sample
};
class Precision : public ShareOfClasses {
public:
    explicit Precision(const std::string &eval_type = "classification")
        : ShareOfClasses("precision", eval_type, true) {}
};
class Recall : public ShareOfClasses {
public:
    explicit Recall(const std::string &eval_type = "classification")
        : ShareOfClasses("recall", eval_type, false) {}
};

// For each class, (1 + beta^2) correct / (beta^2 labelled + predicted), or 0 if the divisor is 0.
// eval() returns the mean over the classes.
class Fbeta : public ConfusionMatrix {
public:
    explicit Fbeta(double beta);  // throws AttrError unless beta > 0
    std::vector<double> eval_classes() const;
    double eval() const override;

private:
    double beta_;
};
struct F1 : Fbeta {
    F1() : Fbeta(1) {}
};

}  // namespace halyard
