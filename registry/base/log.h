// Messages on standard error, in MindSpore's format: a line each with the level, the process, the
// time and the component. The environment variable GLOG_v is the lowest level that is written:
// 0 DEBUG, 1 INFO, 2 WARNING (the default), 3 ERROR, 4 CRITICAL.
#pragma once
#include <string>

namespace halyard {

enum class LogLevel { debug, info, warning, error, critical };

// Returns true if messages of this level are written, for messages that are costly to make.
bool logs(LogLevel level);

// Writes "[WARNING] HALYARD(4711):2026-11-22-06:00:28.949 [who] what". Thread-safe; lines of
// several threads don't mix.
void log(LogLevel level, const std::string &who, const std::string &what);

// The level is GLOG_v's at first. If that is not a level, it is 2, and the first message reports
// it.
LogLevel log_level();
void set_log_level(LogLevel level);

}  // namespace halyard
