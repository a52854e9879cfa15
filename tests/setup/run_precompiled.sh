#!/usr/bin/env bash
# Tests cmake/HalyardPrecompile.cmake: a clone whose headers differ in a comment alone builds with the
# compiler cache of the first one. Usage: run_precompiled.sh SOURCE_DIR
set -euo pipefail
source_dir="$1"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
if ! command -v ccache >/dev/null; then
    echo "precompiled: no ccache here, so nothing can be handed out wrongly"
    exit 0
fi

# build NAME COMMENT: a project of a precompiled header with this comment, and of a source that includes it
# and is NAME's own, so that it is compiled and not found in the cache.
build() {
    local project="$folder/$1"
    mkdir "$project"
    cat >"$project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(precompiled LANGUAGES CXX)
include("$source_dir/cmake/HalyardPrecompile.cmake")
add_library(shapes OBJECT shapes.cpp)
target_include_directories(shapes PRIVATE "\${PROJECT_SOURCE_DIR}")
target_compile_options(shapes PRIVATE -fpch-preprocess)
halyard_precompile(shapes <shape.h>)
END
    printf '#pragma once\n// %s\nstruct Shape {\n    int rank;\n};\n' "$2" >"$project/shape.h"
    printf '#include "shape.h"\nint %s(Shape shape) { return shape.rank; }\n' "$1" \
        >"$project/shapes.cpp"
    export CCACHE_DIR="$folder/cache" CCACHE_BASEDIR="$project" CCACHE_NOHASHDIR=true
    export CCACHE_SLOPPINESS=pch_defines,time_macros
    cmake -G Ninja -S "$project" -B "$project/build" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
        >"$folder/log" 2>&1 && cmake --build "$project/build" >>"$folder/log" 2>&1 || {
        cat "$folder/log"
        echo "precompiled: project $1 does not build"
        exit 1
    }
}
build first "A shape."
build second "A shape, and what its rank counts."
build third "A shape."
ccache --print-stats | awk '/^(direct|preprocessed)_cache_hit/ { hits += $2 } END { exit hits == 0 }' ||
    { echo "precompiled: the compiler cache was not used"; exit 1; }
echo "precompiled: three clones, two comments, one cache"
