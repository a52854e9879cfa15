// Messages for people, on standard error: one line each with its level, the process, the time and
// who speaks, as MindSpore writes them. GLOG_v in the environment is the lowest level that is
// written: 0 DEBUG, 1 INFO, 2 WARNING (without it), 3 ERROR, 4 CRITICAL.
#pragma once
#include <string>

namespace halyard {

enum class LogLevel { debug, info, warning, error, critical };

bool logs(LogLevel level);  // is it written? For messages that cost something to put together

// "[WARNING] HALYARD(4711):2026-11-22-06:00:28.949 [who] what". From any thread; lines don't mix.
void log(LogLevel level, const std::string &who, const std::string &what);

// at first GLOG_v's; where that is no level, 2, and the first message says so
LogLevel log_level();
void set_log_level(LogLevel level);

}  // namespace halyard
