#include "tools/report/page.h"

#include "tools/templates.h"

namespace halyard::report {
namespace {

std::string part(const std::string &path) {
    return text_of(path, ": is the kit complete?");
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

}  // namespace

std::string page_of(const std::string &title, const std::vector<Json> &runs,
                    const std::string &parts) {
    std::string script;
    for (const char *name : {"elements.js", "charts.js", "times.js", "roofline.js", "tuning.js",
                             "checks.js", "dispatch.js", "training.js", "main.js"})
        script += part(parts + "/" + name);
    return filled(part(parts + "/page.html"),
                  {{"@STYLE@", part(parts + "/page.css")},
                   {"@RUNS@", in_script({{"title", title}, {"files", runs}})},
                   {"@CHARTS@", part(parts + "/chart.min.js")},
                   {"@SCRIPT@", script}});
}

}  // namespace halyard::report
