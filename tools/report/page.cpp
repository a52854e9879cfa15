#include "tools/report/page.h"

#include <fstream>
#include <map>
#include <sstream>

#include "registry/base/error.h"

namespace halyard::report {
namespace {

std::string read(const std::string &path) {
    std::ifstream file(path);
    std::stringstream s;
    s << file.rdbuf();
    if (!file) throw IoError(path, "can't be read: is the kit complete?");
    return s.str();
}

// Returns JSON as the text of a <script>. A browser looks for the script's end before the JSON is
// parsed, also inside of strings.
std::string in_script(const Json &value) {
    const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    std::string s;
    for (const char c : text) {
        if (c == '<')
            s += "\\u003c";
        else if (c == '>')
            s += "\\u003e";
        else if (c == '&')
            s += "\\u0026";
        else
            s += c;
    }
    return s;
}

// Returns the text with every @WORD@ replaced, in one pass: replacements aren't searched again.
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

}  // namespace

std::string page_of(const std::string &title, const std::vector<Json> &runs,
                    const std::string &parts) {
    std::string script;
    for (const char *name : {"elements.js", "charts.js", "times.js", "roofline.js", "tuning.js",
                             "checks.js", "dispatch.js", "training.js", "main.js"})
        script += read(parts + "/" + name);
    return filled(read(parts + "/page.html"),
                  {{"@STYLE@", read(parts + "/page.css")},
                   {"@RUNS@", in_script({{"title", title}, {"files", runs}})},
                   {"@CHARTS@", read(parts + "/chart.min.js")},
                   {"@SCRIPT@", script}});
}

}  // namespace halyard::report
