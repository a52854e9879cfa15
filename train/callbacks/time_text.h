// Texts of durations that callbacks print.
#pragma once
#include <chrono>
#include <cstdio>
#include <string>

namespace halyard {

inline double milliseconds(std::chrono::steady_clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
}

inline std::string format(const char *pattern, double a, double b = 0) {
    char text[160];
    std::snprintf(text, sizeof text, pattern, a, b);
    return text;
}

}  // namespace halyard
