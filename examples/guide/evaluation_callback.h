// Evaluation while training: "Training", section "Evaluating while training".
#pragma once
#include <cstdio>
#include <map>
#include <vector>

#include "train/model.h"

namespace halyard::examples {

// Evaluates after every eval_per_epoch epochs and stores the accuracies.
class EvalCallBack : public Callback {
public:
    struct Record {
        std::vector<int64_t> epoch;
        std::vector<double> acc;
    };
    EvalCallBack(const Model &trained, const dataset::Dataset &data, int64_t every, Record &record)
        : model(&trained), eval_dataset(data), eval_per_epoch(every), epoch_per_eval(&record) {}

    void on_train_epoch_end(RunContext &run_context) override {
        const int64_t cur_epoch = run_context.epoch;
        if (cur_epoch % eval_per_epoch == 0) {
            const std::map<std::string, double> acc = model->eval(eval_dataset);
            epoch_per_eval->epoch.push_back(cur_epoch);
            epoch_per_eval->acc.push_back(acc.at("Accuracy"));
            std::printf("{'Accuracy': %.15g}\n", acc.at("Accuracy"));
        }
    }

private:
    const Model *model;
    dataset::Dataset eval_dataset;
    int64_t eval_per_epoch;
    Record *epoch_per_eval;
};

}  // namespace halyard::examples
