// author_location: where in an author's file a call that is active now stands.
#pragma once
#include <string>

namespace halyard {

// Returns "mine/softmax.cpp:41", or "" if it isn't known.
using AuthorLocation = std::string (*)();

// Sets what finds the line in which a reference reads what isn't there. Only tools that run
// references set it, because it needs the DSL's knowledge of op files.
void set_author_location(AuthorLocation find);

}  // namespace halyard
