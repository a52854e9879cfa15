# halyard_op([FOLDER/]NAME [USES other op files] [SOURCES files]): FOLDER/NAME.cpp, relative to the CMakeLists.txt, becomes, in one line (USES: those whose
# ops its chains name; in other projects, those of their own: the kit's are there anyway; SOURCES: further files of the op, beside it, such as
# its variants, without .cpp),
#   op_NAME      its build-time code, which development tools link for the JIT, checks and references
#   gen_NAME     the generator with just this file in it: touching one op rebuilds one op
#   <build>/kernels/NAME.{kernels.a,records.cpp} and <build>/generated/primitives/ops/NAME.h, gathered by halyard_ops_done() in the
#                kit, by halyard_library() elsewhere
# In other projects generated files and symbols begin with the project's name: the kit may have an op file of the same name.
set(HALYARD_BINARY_DIR "${PROJECT_BINARY_DIR}")
set(HALYARD_KERNEL_DIR "${HALYARD_BINARY_DIR}/kernels")
set(HALYARD_FACE_DIR "${HALYARD_BINARY_DIR}/generated/primitives/ops")
set(_isas "${HALYARD_KIT_ISAS}")  # an installed kit's own
if(NOT _isas)
  set(_isas "baseline,avx2,avx512")
endif()
if(DEFINED ENV{HALYARD_ISAS})
  set(_isas "$ENV{HALYARD_ISAS}")
endif()
set(HALYARD_ISAS "${_isas}" CACHE STRING "ISA levels that kernels are compiled for: baseline,avx2,avx512, or native: this machine's best")
set(_build_isas "${HALYARD_ISAS}")
if(HALYARD_ISAS STREQUAL "native")
  file(STRINGS /proc/cpuinfo _cpu_flags LIMIT_COUNT 1 REGEX "^flags")
  set(_build_isas baseline)
  if(_cpu_flags MATCHES " avx2 " AND _cpu_flags MATCHES " fma " AND _cpu_flags MATCHES " f16c ")
    set(_build_isas avx2)
  endif()
  if(_build_isas STREQUAL "avx2" AND _cpu_flags MATCHES " avx512f " AND _cpu_flags MATCHES " avx512dq " AND _cpu_flags MATCHES " avx512bw " AND _cpu_flags MATCHES " avx512vl " AND _cpu_flags MATCHES " avx512cd ")
    set(_build_isas avx512)
  endif()
endif()

set(_on_demand OFF)
if(DEFINED ENV{HALYARD_ON_DEMAND})
  set(_on_demand "$ENV{HALYARD_ON_DEMAND}")
endif()
option(HALYARD_ON_DEMAND "compile a kernel when it is first called, not now: for development, not to be installed" ${_on_demand})
if(HALYARD_ON_DEMAND AND HALYARD_SANITIZE)
  message(FATAL_ERROR "HALYARD_ON_DEMAND: kernels that are watched by HALYARD_SANITIZE=${HALYARD_SANITIZE} are made ahead of time")
endif()

set(HALYARD_GENERATORS "" CACHE PATH "folder of another build's generators, of the same sources, that make this build's kernels")
if(CMAKE_CROSSCOMPILING AND NOT HALYARD_GENERATORS)
  message(FATAL_ERROR "HALYARD_GENERATORS: a build for ${CMAKE_SYSTEM_PROCESSOR} needs the folder of this machine's generators, build/release/gen")
endif()

# Refuses what CMake itself would report in terms of the targets below, or not at all. The call stack under a message has its line.
function(_halyard_check_op FILE NAME)
  set(op "halyard_op(${FILE})")
  get_property(gathered DIRECTORY PROPERTY HALYARD_GATHERED)
  if(gathered)
    message(FATAL_ERROR "${op} comes after ${gathered}, which gathers the ops before it only: write it above")
  endif()
  get_property(ops DIRECTORY PROPERTY HALYARD_OPS)
  if(NAME IN_LIST ops)
    message(FATAL_ERROR "${op} stands here twice: one line makes all of an op file's kernels")
  endif()
  if(TARGET op_${NAME})
    get_target_property(folder op_${NAME} SOURCE_DIR)
    message(FATAL_ERROR "${op}: ${folder}/CMakeLists.txt has an op file of this name already")
  endif()
  if(FILE MATCHES "\\.cpp$")
    string(REGEX REPLACE "\\.cpp$" "" stem "${FILE}")
    message(FATAL_ERROR "${op} takes the name without its ending: halyard_op(${stem})")
  endif()
  if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${FILE}.cpp")
    message(FATAL_ERROR "${op}: there is no ${CMAKE_CURRENT_SOURCE_DIR}/${FILE}.cpp")
  endif()
  if(NOT ops)
    cmake_language(DEFER CALL _halyard_check_gathered)
  endif()
endfunction()

# At the end of a CMakeLists.txt.
function(_halyard_check_gathered)
  get_property(gathered DIRECTORY PROPERTY HALYARD_GATHERED)
  if(NOT gathered)
    get_property(ops DIRECTORY PROPERTY HALYARD_OPS)
    string(REPLACE ";" ", " ops "${ops}")
    message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt: nothing gathers its ops (${ops}): halyard_library(NAME) belongs after the last halyard_op()")
  endif()
endfunction()

# op_NAME and gen_NAME; in other projects generated names begin with the project's: `file`.
function(_halyard_add_generator FILE NAME file SOURCES USES)
  set(used "")
  foreach(other IN LISTS USES)
    list(APPEND used $<TARGET_OBJECTS:op_${other}>)
  endforeach()
  get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}/${FILE}" DIRECTORY)
  set(sources "${CMAKE_CURRENT_SOURCE_DIR}/${FILE}.cpp")
  foreach(source IN LISTS SOURCES)
    list(APPEND sources "${folder}/${source}.cpp")
  endforeach()
  add_library(op_${NAME} OBJECT ${sources})
  target_compile_definitions(op_${NAME} PRIVATE HALYARD_OP_FILE=${file})
  target_compile_options(op_${NAME} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-g1>)  # errors name lines of it, whatever the build type
  target_link_libraries(op_${NAME} PRIVATE Halyard::halyard_kernel_base $<TARGET_NAME_IF_EXISTS:halyard_warnings>)
  if(TARGET halyard_kernel_base)
    target_precompile_headers(op_${NAME} REUSE_FROM halyard_kernel_base)
  endif()

  file(CONFIGURE OUTPUT "${HALYARD_KERNEL_DIR}/list_${file}.cpp" CONTENT
"namespace halyard {
class OpTable;
void halyard_list_@file@(OpTable &ops);
void list_ops(OpTable &ops);
void list_ops(OpTable &ops) { halyard_list_@file@(ops); }
}  // namespace halyard
" @ONLY)
  add_executable(gen_${NAME} "${HALYARD_KERNEL_DIR}/list_${file}.cpp" $<TARGET_OBJECTS:op_${NAME}> ${used})
  target_link_libraries(gen_${NAME} PRIVATE Halyard::halyard_gen_main $<TARGET_NAME_IF_EXISTS:Halyard::halyard_kit_ops> Halyard::halyard_kernel_base)
  set_target_properties(op_${NAME} gen_${NAME} PROPERTIES HALYARD_BUILD_TIME ON POSITION_INDEPENDENT_CODE ON)
  set_target_properties(gen_${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${HALYARD_BINARY_DIR}/gen" LINK_DEPENDS_NO_SHARED ON)
endfunction()

function(halyard_op FILE)
  get_filename_component(NAME "${FILE}" NAME)
  _halyard_check_op(${FILE} ${NAME})
  cmake_parse_arguments(A "" "" "USES;SOURCES" ${ARGN})
  set(file "${HALYARD_OP_PREFIX}${NAME}")
  set_property(DIRECTORY APPEND PROPERTY HALYARD_OPS ${NAME})
  # A build for another machine has no compiler: HALYARD_GENERATORS are this machine's.
  if(NOT CMAKE_CROSSCOMPILING)
    _halyard_add_generator(${FILE} ${NAME} ${file} "${A_SOURCES}" "${A_USES}")
  endif()
  # In the kit a kernel is made anew after what makes it, not after each change of the libraries around that.
  set(makers "")
  if(TARGET halyard_dsl_kernels)
    set(makers $<TARGET_OBJECTS:halyard_dsl_kernels> $<TARGET_FILE:halyard_registry>)
  endif()

  set(out "${HALYARD_KERNEL_DIR}/${file}")
  set(flags --isas ${_build_isas})
  get_filename_component(family "${FILE}" DIRECTORY)  # ops are listed by their folder
  if(family)
    list(APPEND flags --family ${family})
  endif()
  set(launcher "")
  set(what "Kernels of ${NAME}")
  if(HALYARD_ON_DEMAND)
    list(APPEND flags --on-demand)
    set(what "List of kernels of ${NAME}")
  endif()
  if(HALYARD_GENERATORS)
    set(generator "${HALYARD_GENERATORS}/gen_${NAME}")
    set(needs "${generator}" "${HALYARD_GENERATORS}/../lib/libhalyard_dsl.so")  # of which the generators know nothing
  else()
    set(generator $<TARGET_FILE:gen_${NAME}>)
    set(needs gen_${NAME} ${makers})
  endif()
  if(HALYARD_SANITIZE)
    list(APPEND flags --sanitize ${HALYARD_SANITIZE})
    if(NOT HALYARD_GENERATORS)
      # libHalide keeps what it has built, and a sanitizer can't follow its change of stacks.
      set(launcher "${CMAKE_COMMAND}" -E env ASAN_OPTIONS=detect_leaks=0 HL_COMPILER_STACK_SIZE=0)
    endif()
  endif()
  add_custom_command(OUTPUT ${out}.kernels.a ${out}.records.cpp "${HALYARD_FACE_DIR}/${file}.h"
    COMMAND ${launcher} ${generator} --out "${HALYARD_KERNEL_DIR}" --faces "${HALYARD_FACE_DIR}" --name ${file} ${flags}
    DEPENDS ${needs}
    COMMENT "${what}"
    VERBATIM)
endfunction()

# What the op files so far amount to, for the functions below: lists of generated files, and of lines for what they generate.
function(_halyard_gather)
  get_property(ops DIRECTORY PROPERTY HALYARD_OPS)
  foreach(op IN LISTS ops)
    set(file "${HALYARD_OP_PREFIX}${op}")
    string(APPEND declarations "extern const OpFile op_file_${file};\n")
    string(APPEND pointers "        &op_file_${file},\n")
    string(APPEND lists "void halyard_list_${file}(OpTable &ops);\n")
    string(APPEND calls "    halyard_list_${file}(ops);\n")
    string(APPEND faces "#include \"primitives/ops/${file}.h\"\n")
    list(APPEND records "${HALYARD_KERNEL_DIR}/${file}.records.cpp")
    list(APPEND archives "${HALYARD_KERNEL_DIR}/${file}.kernels.a")
    list(APPEND headers "${HALYARD_FACE_DIR}/${file}.h")
    list(APPEND objects $<TARGET_OBJECTS:op_${op}>)
    list(APPEND generators gen_${op})
  endforeach()
  foreach(result declarations pointers lists calls faces records archives headers objects generators)
    set(${result} "${${result}}" PARENT_SCOPE)
  endforeach()
endfunction()

# Records are tables that run once: optimised or instrumented, their one long initialiser costs the compiler minutes.
function(_halyard_add_records TARGET LIST)
  add_library(${TARGET} OBJECT ${ARGN} "${LIST}")
  set_target_properties(${TARGET} PROPERTIES HALYARD_BUILD_TIME ON POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${TARGET} PRIVATE -O0)
endfunction()

# In the kit: defines halyard_kernels (records and kernels of all op files, for the run time), halyard_kernel_faces (their generated
# headers) and halyard_op_sources (the build-time code of all op files and the composites' records and references, for development
# tools: shared, so that a new op links none of them anew).
function(halyard_ops_done)
  _halyard_gather()
  set_property(DIRECTORY PROPERTY HALYARD_GATHERED "halyard_ops_done()")
  set(generated "${HALYARD_BINARY_DIR}/generated")
  file(CONFIGURE OUTPUT "${generated}/op_files.cpp" CONTENT
"#include \"registry/op/op_files.h\"

namespace halyard {

@declarations@
std::vector<const OpFile *> op_files() {
    return {
@pointers@    };
}

}  // namespace halyard
" @ONLY)
  file(CONFIGURE OUTPUT "${generated}/list_all_ops.cpp" CONTENT
"#include \"dsl/op.h\"
#include \"dsl/all_ops.h\"
#include \"tools/composite_op.h\"

namespace halyard {

@lists@
void list_all_ops(OpTable &ops) {
@calls@    add_composites(ops);
}

void list_kit_ops() {
    static const bool is_listed = [] {
        list_all_ops(op_table());
        return true;
    }();
    static_cast<void>(is_listed);
}

}  // namespace halyard
" @ONLY)
  set_property(GLOBAL PROPERTY HALYARD_KERNEL_FACES "${faces}")  # cmake/HalyardComposite.cmake makes a header of them
  add_custom_target(halyard_kernel_faces DEPENDS ${headers})
  _halyard_add_records(halyard_kernels "${generated}/op_files.cpp" ${records})
  halyard_precompile(halyard_kernels <registry/dispatch/kernel_on_demand.h> <registry/dispatch/kernel_rows.h>)
  target_include_directories(halyard_kernels PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(halyard_kernels PRIVATE halyard_flags)
  add_custom_target(halyard_kernel_archives DEPENDS ${archives})
  add_library(halyard_kernel_code INTERFACE)
  target_link_libraries(halyard_kernel_code INTERFACE ${archives})
  add_dependencies(halyard_kernel_code halyard_kernel_archives)
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  add_custom_target(halyard_generators DEPENDS ${generators})  # for builds that take them by HALYARD_GENERATORS
  add_library(halyard_op_sources SHARED ${objects} "${generated}/list_all_ops.cpp" $<TARGET_OBJECTS:halyard_composite_op>)
  set_target_properties(halyard_op_sources PROPERTIES HALYARD_BUILD_TIME ON)
  target_link_libraries(halyard_op_sources PUBLIC halyard_dsl PRIVATE halyard_kernel_base halyard)
  add_library(halyard_kit_ops STATIC ${objects})  # for the chains of other projects
  target_link_libraries(halyard_kit_ops PUBLIC halyard_kernel_base)
  set_target_properties(halyard_kit_ops PROPERTIES LINKER_LANGUAGE CXX)
endfunction()

# In other projects, after the halyard_op() lines of the same CMakeLists.txt:
#   NAME          static library of records and kernels, for programs. Header: NAME/ops.h, the ops' faces and NAME_op_files(),
#                 which a program gives to library().add() before it calls one
#   NAME_kernels  libNAME_kernels.so: these and the build-time code, for `halyard --kernels`
function(halyard_library NAME)
  get_property(gathered DIRECTORY PROPERTY HALYARD_GATHERED)
  if(gathered)
    message(FATAL_ERROR "halyard_library(${NAME}): ${gathered} has gathered the ops of this CMakeLists.txt already")
  endif()
  _halyard_gather()
  if(NOT records)
    message(FATAL_ERROR "halyard_library(${NAME}) comes before any halyard_op(): it gathers those above it")
  endif()
  set_property(DIRECTORY PROPERTY HALYARD_GATHERED "halyard_library(${NAME})")
  set(generated "${HALYARD_BINARY_DIR}/generated")
  file(CONFIGURE OUTPUT "${generated}/${NAME}/op_files.cpp" CONTENT
"#include \"registry/op/op_files.h\"

namespace halyard {

@declarations@
std::vector<const OpFile *> @NAME@_op_files();
std::vector<const OpFile *> @NAME@_op_files() {
    return {
@pointers@    };
}

}  // namespace halyard
" @ONLY)
  file(CONFIGURE OUTPUT "${generated}/${NAME}/kernel_library.cpp" CONTENT
"#include \"registry/dispatch/kernel_library.h\"

namespace halyard {

@lists@
namespace {
void list_ops(OpTable &ops) {
@calls@}
}  // namespace

std::vector<const OpFile *> @NAME@_op_files();

}  // namespace halyard

extern \"C\" const halyard::KernelLibrary *halyard_kernels();
extern \"C\" const halyard::KernelLibrary *halyard_kernels() {
    static const halyard::KernelLibrary library = {.kit = \"@Halyard_VERSION@\", .files = halyard::@NAME@_op_files, .list = halyard::list_ops};
    return &library;
}
" @ONLY)
  file(CONFIGURE OUTPUT "${generated}/${NAME}/ops.h" CONTENT
"// The primitives of @NAME@, as objects (ops::) and as functions (F::). Generated.
#pragma once
#include \"primitives/library.h\"
@faces@
namespace halyard {
std::vector<const OpFile *> @NAME@_op_files();  // for library().add(), before the first call
}  // namespace halyard
" @ONLY)
  file(CONFIGURE OUTPUT "${generated}/${NAME}/exports.map" CONTENT "{ global: halyard_kernels; local: *; };\n" @ONLY)

  _halyard_add_records(${NAME}_records "${generated}/${NAME}/op_files.cpp" ${records})
  target_link_libraries(${NAME}_records PRIVATE Halyard::halyard_flags)
  add_custom_target(${NAME}_generated DEPENDS ${archives} ${headers})
  add_library(${NAME} STATIC $<TARGET_OBJECTS:${NAME}_records>)
  set_target_properties(${NAME} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${NAME} INTERFACE "${generated}" "${HALYARD_BINARY_DIR}")
  target_link_libraries(${NAME} PUBLIC Halyard::halyard ${archives})

  # Its own copy of everything but the one symbol: whatever the program that opens it has by the same name.
  add_library(${NAME}_kernels MODULE "${generated}/${NAME}/kernel_library.cpp" $<TARGET_OBJECTS:${NAME}_records> ${objects})
  target_link_libraries(${NAME}_kernels PRIVATE $<TARGET_NAME_IF_EXISTS:Halyard::halyard_kit_ops> Halyard::halyard_kernel_base ${archives})
  target_link_options(${NAME}_kernels PRIVATE "LINKER:--version-script=${generated}/${NAME}/exports.map")
  foreach(target ${NAME} ${NAME}_kernels)
    add_dependencies(${target} ${NAME}_generated)
  endforeach()
endfunction()
