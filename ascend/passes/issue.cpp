#include "ascend/passes/issue.h"

#include <algorithm>

namespace halyard::dv {

void IssueLog::merge(const IssueLog &other) {
    for (size_t i = 0; i < other.all_.size(); i++) {
        const Issue &o = other.all_[i];
        const auto [it, fresh] = seen_.try_emplace({other.sites_[i], o.id}, all_.size());
        if (fresh) {
            all_.push_back(o);
            sites_.push_back(other.sites_[i]);
        } else
            all_[it->second].count += o.count;
    }
}

bool has_errors(const std::vector<Issue> &issues) {
    return std::any_of(issues.begin(), issues.end(), [](const Issue &i) { return i.error(); });
}

bool has(const std::vector<Issue> &issues, const std::string &id) {
    return std::any_of(issues.begin(), issues.end(), [&](const Issue &i) { return i.id == id; });
}

std::string to_text(const std::vector<Issue> &issues) {
    std::string all;
    for (const Issue &i : issues) {
        all += i.id + ": " + i.text +
               (i.count > 1 ? " [" + std::to_string(i.count) + " times]" : "") + "\n";
    }
    return all;
}

std::string first_error(const std::vector<Issue> &issues) {
    const Issue *first = nullptr;
    int more = -1;
    for (const Issue &i : issues) {
        if (!i.error()) continue;
        if (!first) first = &i;
        more++;
    }
    if (!first) return "";
    return first->id + ": " + first->text +
           (more > 0 ? "; and " + std::to_string(more) + " more" : "");
}

}  // namespace halyard::dv
