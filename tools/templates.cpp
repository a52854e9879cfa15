#include "tools/templates.h"

#include <fstream>
#include <sstream>

#include "registry/base/error.h"

namespace halyard {

std::string text_of(const std::filesystem::path &path, const std::string &hint) {
    std::ifstream file(path);
    std::stringstream s;
    s << file.rdbuf();
    if (!file) throw IoError(path, "can't be read" + hint);
    return s.str();
}

std::string filled(const std::string &text, const std::map<std::string, std::string> &words) {
    std::string s;
    for (size_t at = 0; at < text.size();) {
        const size_t end = text[at] == '@' ? text.find('@', at + 1) : std::string::npos;
        const auto word = end == std::string::npos ? words.end()
                                                   : words.find(text.substr(at, end + 1 - at));
        if (word == words.end())
            s += text[at++];
        else {
            s += word->second;
            at = end + 1;
        }
    }
    return s;
}

}  // namespace halyard
