include_guard(GLOBAL)

# halyard_precompile(TARGET HEADER...): these headers are precompiled for TARGET, and the compiler cache
# tells their comments apart. GCC knows a `#pragma once` header inside a precompiled one by the sum of its
# bytes; the cache by its text without comments. Without this it hands out the precompiled header of an
# older comment, and every definition in it is then read twice ("multiple definition").
function(halyard_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  get_target_property(launcher ${target} CXX_COMPILER_LAUNCHER)
  if(launcher AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "env;CCACHE_COMMENTS=true;${launcher}")
  endif()
endfunction()
