# FindHalideSDK: the C++ SDK inside the `halide` Python wheel, without its HalideConfig.cmake (which demands CMake 3.28).
#
# Looks in HALIDE_ROOT (cache or -D, the wheel's site-packages/halide), else in the project's .venv.
# Variables: HalideSDK_FOUND, HalideSDK_VERSION, HALIDE_ROOT.
# Targets:
#   Halide::Runtime        HalideRuntime.h and HalideBuffer.h: all that a deployed program includes
#   Halide::Halide         the compiler, libHalide.so; only build-time code links it
#   Halide::gengen         the wheel's generator driver
#   Halide::RuntimeObject  the run-time library (thread pool, OpenCL and CUDA loaders) as one object; link it exactly once
#                          per program. Its target string is HALYARD_RUNTIME_TARGET.
include_guard(GLOBAL)

if(NOT HALIDE_ROOT)
  get_filename_component(_halide_project "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
  file(GLOB _halide_candidates "${_halide_project}/.venv/lib/python3*/site-packages/halide")
  list(APPEND _halide_candidates "$ENV{HALIDE_ROOT}")
  foreach(_candidate IN LISTS _halide_candidates)
    if(EXISTS "${_candidate}/include/HalideRuntime.h")
      set(HALIDE_ROOT "${_candidate}" CACHE PATH "site-packages/halide of the Halide wheel" FORCE)
      break()
    endif()
  endforeach()
endif()

if(EXISTS "${HALIDE_ROOT}/include/HalideRuntime.h")
  file(STRINGS "${HALIDE_ROOT}/include/HalideRuntime.h" _halide_lines REGEX "define HALIDE_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+).*" "\\1.\\2.\\3" HalideSDK_VERSION "${_halide_lines}")
endif()

find_library(HALIDE_LIBRARY Halide PATHS "${HALIDE_ROOT}/lib64" "${HALIDE_ROOT}/lib" NO_DEFAULT_PATH)
find_program(HALIDE_GENGEN gengen PATHS "${HALIDE_ROOT}/bin" NO_DEFAULT_PATH)
mark_as_advanced(HALIDE_LIBRARY HALIDE_GENGEN)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HalideSDK
  REQUIRED_VARS HALIDE_ROOT HALIDE_LIBRARY HALIDE_GENGEN
  VERSION_VAR HalideSDK_VERSION
  REASON_FAILURE_MESSAGE "run scripts/setup.sh, or pass -DHALIDE_ROOT=<site-packages>/halide")
if(NOT HalideSDK_FOUND)
  return()
endif()

find_package(Threads REQUIRED)

add_library(Halide::Runtime INTERFACE IMPORTED GLOBAL)
set_target_properties(Halide::Runtime PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${HALIDE_ROOT}/include"
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${HALIDE_ROOT}/include")

add_library(Halide::Halide SHARED IMPORTED GLOBAL)
set_target_properties(Halide::Halide PROPERTIES
  IMPORTED_LOCATION "${HALIDE_LIBRARY}"
  INTERFACE_LINK_LIBRARIES "Halide::Runtime")

add_executable(Halide::gengen IMPORTED GLOBAL)
set_target_properties(Halide::gengen PROPERTIES IMPORTED_LOCATION "${HALIDE_GENGEN}")

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(_halide_arch arm-64)
else()
  set(_halide_arch x86-64)
endif()
set(HALYARD_RUNTIME_TARGET "${_halide_arch}-linux-opencl-cuda" CACHE STRING "Halide target of the run-time object")

set(_halide_object "${CMAKE_BINARY_DIR}/halide/halide_runtime.o")
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/halide")
add_custom_command(OUTPUT "${_halide_object}"
  COMMAND Halide::gengen -r halide_runtime -o "${CMAKE_BINARY_DIR}/halide" -e object "target=${HALYARD_RUNTIME_TARGET}"
  DEPENDS "${HALIDE_LIBRARY}"
  COMMENT "Halide run-time for ${HALYARD_RUNTIME_TARGET}"
  VERBATIM)
add_custom_target(halide_runtime_object DEPENDS "${_halide_object}")

# The object goes onto the link line of the final program (not into each archive that mentions it), once, however many
# libraries ask for it. OpenCL and CUDA are opened with dlopen, so neither is a link-time dependency.
add_library(Halide::RuntimeObject INTERFACE IMPORTED GLOBAL)
set_target_properties(Halide::RuntimeObject PROPERTIES
  INTERFACE_LINK_LIBRARIES "${_halide_object};Halide::Runtime;Threads::Threads;${CMAKE_DL_LIBS}")
add_dependencies(Halide::RuntimeObject halide_runtime_object)
