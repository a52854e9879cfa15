#include "registry/base/log.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace halyard {
namespace {

constexpr const char *names[] = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};

void write(LogLevel level, const std::string &who, const std::string &what) {
    const auto now = std::chrono::system_clock::now();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() %
        1000;
    std::tm date{};
    localtime_r(&seconds, &date);
    char time[32];
    std::strftime(time, sizeof time, "%Y-%m-%d-%H:%M:%S", &date);
    // The line is written in one call, during which stdio locks the stream.
    std::fprintf(stderr, "[%s] HALYARD(%d):%s.%03d [%s] %s\n", names[static_cast<int>(level)],
                 int(getpid()), time, int(milliseconds), who.c_str(), what.c_str());
}

std::atomic<LogLevel> &lowest() {
    static std::atomic<LogLevel> level = [] {
        const char *given = std::getenv("GLOG_v");
        if (!given || !*given) return LogLevel::warning;
        if (given[0] >= '0' && given[0] <= '4' && !given[1]) return (LogLevel)(given[0] - '0');
        write(LogLevel::warning, "log",
              std::string("GLOG_v is '") + given + "', expected 0 to 4; 2 is taken");
        return LogLevel::warning;
    }();
    return level;
}

}  // namespace

LogLevel log_level() {
    return lowest().load(std::memory_order_relaxed);
}
void set_log_level(LogLevel level) {
    lowest() = level;
}
bool logs(LogLevel level) {
    return level >= log_level();
}

void log(LogLevel level, const std::string &who, const std::string &what) {
    if (logs(level)) write(level, who, what);
}

}  // namespace halyard
