#include "train/data/row_iterator.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "registry/base/error.h"

namespace halyard::dataset {

class RowIterator::Producer {
public:
    Producer(std::shared_ptr<const Node> node, const Opening &opening, size_t ahead, int64_t start)
        : node_(std::move(node)) {
        stats_.capacity = ahead ? ahead : 1;
        try {
            thread_ = std::jthread(
                [this, opening, start](const std::stop_token &stop) { run(opening, start, stop); });
        } catch (const std::system_error &e) {
            throw Error("dataset",
                        std::string("the system allows no thread that reads ahead: ") + e.what());
        }
    }

    ~Producer() {
        thread_.request_stop();
        space_.notify_all();
    }

    bool next(Row &row) {
        std::unique_lock lock(mutex_);
        const auto ready = [&] { return !queue_.empty() || finished_; };
        if (!ready()) {
            const Stopwatch watch(stats_.starved_seconds);
            filled_.wait(lock, ready);
        }
        if (queue_.empty()) {
            if (failure_) std::rethrow_exception(failure_);
            return false;
        }
        row = std::move(queue_.front());
        queue_.pop_front();
        stats_.consumed++;
        space_.notify_one();
        return true;
    }

    QueueStats stats() {
        const std::scoped_lock lock(mutex_);
        stats_.depth = queue_.size();
        return stats_;
    }

private:
    // Adds the duration of its scope to a sum.
    class Stopwatch {
    public:
        explicit Stopwatch(double &total) : total_(total) {}
        ~Stopwatch() {
            total_ +=
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
        }
        Stopwatch(const Stopwatch &) = delete;
        Stopwatch &operator=(const Stopwatch &) = delete;

    private:
        double &total_;
        std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    };

    void run(const Opening &opening, int64_t start, const std::stop_token &stop) {
        std::exception_ptr failure;
        try {
            const std::unique_ptr<Source> source = node_->open(opening);
            if (start) source->skip(start);
            for (Row row; !stop.stop_requested() && source->next(row);)
                if (!put(std::move(row), stop)) break;
        } catch (...) {
            failure = std::current_exception();
        }
        const std::scoped_lock lock(mutex_);
        failure_ = failure;
        finished_ = true;
        filled_.notify_all();
    }

    // Returns false if the consumer has gone.
    bool put(Row row, const std::stop_token &stop) {
        std::unique_lock lock(mutex_);
        const auto space = [&] { return queue_.size() < stats_.capacity; };
        if (!space()) {
            const Stopwatch watch(stats_.full_seconds);
            if (!space_.wait(lock, stop, space)) return false;
        }
        queue_.push_back(std::move(row));
        stats_.produced++;
        stats_.high_water = std::max(stats_.high_water, queue_.size());
        filled_.notify_one();
        return true;
    }

    std::shared_ptr<const Node> node_;
    std::mutex mutex_;
    std::condition_variable_any filled_, space_;
    std::deque<Row> queue_;
    QueueStats stats_;
    std::exception_ptr failure_;
    bool finished_ = false;
    std::jthread thread_;  // the last member, because it uses all others
};

RowIterator::RowIterator(std::shared_ptr<const Node> node, const Opening &opening, size_t ahead,
                         int64_t start)
    : producer_(std::make_shared<Producer>(std::move(node), opening, ahead, start)) {}

bool RowIterator::next(Row &row) {
    return producer_->next(row);
}

QueueStats RowIterator::stats() const {
    return producer_->stats();
}

}  // namespace halyard::dataset
