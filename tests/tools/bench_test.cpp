// `halyard bench`: what it prints, what it answers, what it writes.
#include <nlohmann/json.hpp>

#include "tests/tools/command.h"

namespace halyard {
namespace {

}  // namespace
}  // namespace halyard
