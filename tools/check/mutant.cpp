#include "tools/check/mutant.h"

#include "dsl/mutate.h"

namespace halyard::check {

std::string Mutant::kind() const {
    return kind_of(fault);
}

const char *name_of(Mutant::Status status) {
    switch (status) {
    case Mutant::caught: return "caught";
    case Mutant::survived: return "survived";
    case Mutant::equivalent: return "equivalent";
    case Mutant::unreached: return "unreached";
    case Mutant::same_code: return "same code";
    case Mutant::refused: break;
    }
    return "refused";
}

}  // namespace halyard::check
