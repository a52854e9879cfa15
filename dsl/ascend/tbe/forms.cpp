#include "dsl/ascend/tbe/forms.h"

#include <cstdio>

#include "ascend/emit/emit.h"
#include "ascend/program/text.h"
#include "dsl/ascend/compile.h"
#include "dsl/ascend/tbe/emit_tbe.h"
#include "registry/base/error.h"

namespace halyard::ascend {

namespace {

// Returns a hash of the program's text, which shows all decisions of its schedule.
std::string hash_of(const dv::Program &p) {
    char text[20];
    std::snprintf(text, sizeof text, "%016zx", std::hash<std::string>()(dv::to_text(p)));
    return text;
}

std::string text_of(const dv::PythonFiles &files) {
    return files.kernel + "\n# ---- the registration, a file of its own\n" + files.registration +
           "\n# ---- the .ini, a file of its own\n" + files.ini;
}

}  // namespace

std::string text_of(Kernel &k, const std::string &form) {
    if (form == "tbe") return text_of(emit_tbe(k));
    Compiled c = compile(k);
    if (dv::has_errors(c.issues)) throw DispatchError(k.op->name, dv::to_text(c.issues));
    std::string text;
    for (dv::Program &p : c.lowered.programs) {
        p.schedule_hash = hash_of(p);
        if (form == "dv")
            text += dv::to_text(p);
        else if (form == "ascendc")
            text += dv::emit_ascendc(p);
        else if (form == "tik")
            text += text_of(dv::emit_tik(p));
        else
            throw AttrError(k.op->name, "no text form '" + form + "'");
    }
    return text;
}

}  // namespace halyard::ascend
