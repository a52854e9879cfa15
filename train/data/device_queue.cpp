#include "train/data/device_queue.h"

#include <map>
#include <mutex>
#include <optional>

#include "registry/base/error.h"
#include "registry/tensor/host_step.h"

namespace halyard {

struct dataset::DeviceQueue::State {
    State(std::string queue, Dataset rows, int64_t passes)
        : name(std::move(queue)), data(std::move(rows)), epochs(passes) {}
    ~State();
    State(const State &) = delete;
    State &operator=(const State &) = delete;

    // Sets the next row. Returns false after the last pass.
    bool next(Row &row) {
        const std::lock_guard lock(mutex);
        while (rows || epochs < 0 || pass < uint64_t(epochs)) {
            if (!rows) rows.emplace(data.create_dict_iterator(pass++));
            if (rows->next(row)) return true;
            rows.reset();
        }
        return false;
    }

    const std::string name;
    const Dataset data;
    const int64_t epochs;
    std::mutex mutex;                 // of what follows
    std::optional<RowIterator> rows;  // of the current pass
    uint64_t pass = 0;
};

namespace {

using State = dataset::DeviceQueue::State;

struct Queues {
    std::mutex mutex;
    std::map<std::string, std::weak_ptr<State>> by_name;
};
Queues &queues() {
    static Queues all;
    return all;
}

std::shared_ptr<State> queue_of(const std::string &name) {
    const std::lock_guard lock(queues().mutex);
    const auto found = queues().by_name.find(name);
    std::shared_ptr<State> state = found == queues().by_name.end() ? nullptr : found->second.lock();
    if (!state) throw AttrError("GetNext", "there is no queue '" + name + "'");
    return state;
}

// A captured graph takes memory that begins with the tensor, and that nothing else shares.
Tensor of_its_own(const Tensor &t) {
    const Storage &s = *t.impl()->storage;
    const bool is_alone = t.dense() && t.impl()->data == s.data &&
                          s.references.load(std::memory_order_acquire) == 1;
    return is_alone ? t : t.copy();
}

}  // namespace

dataset::DeviceQueue::State::~State() {
    const std::lock_guard lock(queues().mutex);
    const auto found = queues().by_name.find(name);
    if (found != queues().by_name.end() && found->second.expired()) queues().by_name.erase(found);
}

dataset::DeviceQueue::DeviceQueue(const std::string &name, Dataset data, int64_t epochs) {
    if (name.empty()) throw AttrError("DeviceQueue", "the name is empty");
    if (epochs != -1 && epochs < 1) {
        throw AttrError("DeviceQueue",
                        "epochs is " + std::to_string(epochs) + ", expected -1 or at least 1");
    }
    if (data.get_dataset_size() < 1) throw AttrError("DeviceQueue", "the dataset has no row");
    auto state = std::make_shared<State>(name, std::move(data), epochs);
    const std::lock_guard lock(queues().mutex);
    std::weak_ptr<State> &known = queues().by_name[name];
    if (!known.expired()) throw AttrError("DeviceQueue", "there is a queue '" + name + "' already");
    known = state;
    state_ = std::move(state);
}

ops::GetNext::GetNext(std::vector<DType> types, std::vector<Shape> shapes, int64_t output_num,
                      std::string shared_name)
    : types_(std::move(types)), shapes_(std::move(shapes)), name_(std::move(shared_name)) {
    if (int64_t(types_.size()) != output_num || int64_t(shapes_.size()) != output_num) {
        throw AttrError("GetNext", "has " + std::to_string(types_.size()) + " types and " +
                                       std::to_string(shapes_.size()) + " shapes for " +
                                       std::to_string(output_num) + " outputs");
    }
}

std::vector<Tensor> ops::GetNext::operator()() const {
    const auto take = [types = types_, shapes = shapes_, name = name_](std::span<const Tensor>) {
        dataset::Row row;
        if (!queue_of(name)->next(row))
            throw IoError("GetNext", "the queue '" + name + "' has no more rows");
        if (row.size() != types.size()) {
            throw ShapeError("GetNext", "a row of '" + name + "' has " +
                                            std::to_string(row.size()) + " columns, expected " +
                                            std::to_string(types.size()));
        }
        std::vector<Tensor> out;
        for (size_t k = 0; k < types.size(); k++) {
            Tensor t = std::move(row.tensors()[k]);
            const std::string what = "column " + std::to_string(k) + " of '" + name + "' ";
            if (t.dtype() != types[k]) {
                throw DTypeError("GetNext", what + "is " + name_of(t.dtype()) + ", expected " +
                                                name_of(types[k]));
            }
            if (!(t.shape() == shapes[k])) {
                throw ShapeError("GetNext", what + "has shape " + t.shape().text() + ", expected " +
                                                shapes[k].text());
            }
            out.push_back(of_its_own(t));
        }
        return out;
    };
    return run_on_host("get_next " + name_, {}, take);
}

}  // namespace halyard
