// The thread that runs ahead: a bounded queue between a pipeline and its user.
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "train/dataset.h"

namespace halyard::dataset {

class RowIterator::Producer {
public:
    Producer(std::shared_ptr<const Node> node, uint64_t pass, size_t ahead)
        : node_(std::move(node)), ahead_(ahead ? ahead : 1), thread_([this, pass](const std::stop_token &stop) { run(pass, stop); }) {}

    ~Producer() {
        thread_.request_stop();
        space_.notify_all();
    }

    bool next(Row &row) {
        std::unique_lock lock(mutex_);
        filled_.wait(lock, [&] { return !queue_.empty() || finished_; });
        if (queue_.empty()) {
            if (failure_) std::rethrow_exception(failure_);
            return false;
        }
        row = std::move(queue_.front());
        queue_.pop_front();
        space_.notify_one();
        return true;
    }

    size_t waiting() const {
        const std::scoped_lock lock(mutex_);
        return queue_.size();
    }
    size_t capacity() const { return ahead_; }

private:
    void run(uint64_t pass, const std::stop_token &stop) {
        std::exception_ptr failure;
        try {
            const std::unique_ptr<Source> source = node_->open(pass);
            for (Row row; !stop.stop_requested() && source->next(row);) {
                std::unique_lock lock(mutex_);
                if (!space_.wait(lock, stop, [&] { return queue_.size() < ahead_; })) break;
                queue_.push_back(std::move(row));
                filled_.notify_one();
            }
        } catch (...) { failure = std::current_exception(); }
        const std::scoped_lock lock(mutex_);
        failure_ = failure, finished_ = true;
        filled_.notify_all();
    }

    std::shared_ptr<const Node> node_;
    size_t ahead_;
    mutable std::mutex mutex_;
    std::condition_variable_any filled_, space_;
    std::deque<Row> queue_;
    std::exception_ptr failure_;
    bool finished_ = false;
    std::jthread thread_;  // last: it uses all of the above
};

RowIterator::RowIterator(std::shared_ptr<const Node> node, uint64_t pass, size_t ahead) : producer_(std::make_shared<Producer>(std::move(node), pass, ahead)) {}

bool RowIterator::next(Row &row) { return producer_->next(row); }
size_t RowIterator::waiting() const { return producer_->waiting(); }
size_t RowIterator::capacity() const { return producer_->capacity(); }

}  // namespace halyard::dataset
