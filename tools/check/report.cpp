#include "tools/check/report.h"

#include <algorithm>
#include <cctype>

#include "bench/harness/progress.h"

namespace halyard::check {
namespace {

bool is_part_of_name(char c) {
    return std::isalnum((unsigned char)c) || c == '_';
}

// Returns the length of the number, nan or inf that begins at `at`; 0 if there is none. The 32 of
// f32 is part of a name.
size_t number_at(const std::string &text, size_t at) {
    if (at > 0 && is_part_of_name(text[at - 1])) return 0;
    size_t end = at + (text[at] == '-' || text[at] == '+');
    for (const char *word : {"nan", "inf"}) {
        if (text.compare(end, 3, word) == 0 &&
            (end + 3 == text.size() || !is_part_of_name(text[end + 3])))
            return end + 3 - at;
    }
    if (end == text.size() || !std::isdigit((unsigned char)text[end])) return 0;
    while (end < text.size() && (std::isdigit((unsigned char)text[end]) || text[end] == '.'))
        end++;
    if (end < text.size() && text[end] == 'e') {
        size_t exponent = end + 1;
        exponent += exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+');
        if (exponent < text.size() && std::isdigit((unsigned char)text[exponent])) end = exponent;
        while (end < text.size() && std::isdigit((unsigned char)text[end]))
            end++;
    }
    return end - at;
}

void add_note(std::vector<std::string> &notes, const std::string &note) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

}  // namespace

std::string failure_kind(const std::string &error) {
    const std::string line = error.substr(0, error.find('\n'));
    std::string kind;
    for (size_t at = 0; at < line.size();) {
        const size_t digits = number_at(line, at);
        if (digits == 0) {
            kind += line[at++];
            continue;
        }
        at += digits;
        if (kind.ends_with("#,"))
            kind.pop_back();  // a list, which may be longer elsewhere
        else
            kind += '#';
    }
    return kind;
}

void Report::fail(const std::string &what) {
    failed++;
    failures.push_back(op + " " + what);
    kinds.push_back(failure_kind(what));
    check::report_failure(failures.back());
}

void Report::fail(const std::string &where, const std::string &what) {
    fail(where + ": " + what);
    kinds.back() = failure_kind(what);
}

void Report::skip(const std::string &why) {
    skipped++;
    add_note(notes, why);
}

bool Report::has_kind(const std::string &error) const {
    return std::find(kinds.begin(), kinds.end(), failure_kind(error)) != kinds.end();
}

void Report::add(const Report &part) {
    passed += part.passed;
    failed += part.failed;
    skipped += part.skipped;
    seconds += part.seconds;
    failures.insert(failures.end(), part.failures.begin(), part.failures.end());
    for (auto &kind : part.kinds)
        kinds.push_back(part.check + ": " + kind);
    for (auto &note : part.notes)
        add_note(notes, note);
    checks.push_back(part);
}

void Report::require_a_pass() {
    if (passed == 0 && failed == 0) {
        fail("passed no check: " +
             (skipped ? std::to_string(skipped) + " were skipped" : "it has none"));
    }
}

}  // namespace halyard::check
