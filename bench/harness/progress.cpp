#include "bench/harness/progress.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace halyard::check {
namespace {

Progress own_progress;
Progress *current = nullptr;
std::function<void(const std::string &)> failure_listener;

void put(char *to, size_t size, const std::string &text) {
    const size_t n = std::min(size - 1, text.size());
    std::memcpy(to, text.data(), n);
    to[n] = '\0';
}

void write_error(const char *text) {
    // Nothing can be done if even this fails.
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

void on_death(int signal) {
    if (current == &own_progress) {  // otherwise the parent process reads it
        write_error("died");
        if (own_progress.check[0]) {
            write_error(" in check ");
            write_error(own_progress.check);
        }
        if (own_progress.step[0]) {
            write_error(": ");
            write_error(own_progress.step);
        }
        write_error("\n");
    }
    raise(signal);  // with the default handler, which SA_RESETHAND restored
}

}  // namespace

void keep_progress_in(Progress *place) {
    current = place;
    begin_check("");
}

void set_failure_listener(std::function<void(const std::string &)> listener) {
    failure_listener = std::move(listener);
}

void begin_check(const std::string &name) {
    if (!current) return;
    put(current->check, sizeof current->check, name);
    current->step[0] = '\0';
}

void begin_step(const std::string &step) {
    if (current) put(current->step, sizeof current->step, step);
}

void report_failure(const std::string &failure) {
    if (failure_listener) failure_listener(failure);
}

std::string text_of(const Progress &p) {
    std::string text = p.check[0] ? std::string("check ") + p.check : "";
    if (p.step[0]) text += (text.empty() ? "" : ", ") + std::string(p.step);
    return text;
}

void print_progress_on_death() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return;  // a sanitizer prints more
#endif
    if (!current) keep_progress_in(&own_progress);
    struct sigaction action = {};
    action.sa_handler = on_death;
    action.sa_flags = SA_RESETHAND | SA_NODEFER;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
        sigaction(signal, &action, nullptr);
}

}  // namespace halyard::check
