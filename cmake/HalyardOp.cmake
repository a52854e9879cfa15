# halyard_op(NAME [USES other op files]): kernels/NAME.cpp becomes, in one line (USES: those whose ops its chains name),
#   op_NAME      its build-time code, which development tools link for the JIT, checks and references
#   gen_NAME     the generator with just this file in it: touching one op rebuilds one op
#   <build>/kernels/NAME.{kernels.a,records.cpp,face.h}, gathered by halyard_ops_done()
include_guard(GLOBAL)
define_property(GLOBAL PROPERTY HALYARD_OPS BRIEF_DOCS "op files" FULL_DOCS "names of all op files, in order")
set(HALYARD_KERNEL_DIR "${CMAKE_BINARY_DIR}/kernels")
set(_isas "baseline,avx2,avx512")
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

function(halyard_op NAME)
  cmake_parse_arguments(A "" "" "USES" ${ARGN})
  set(used "")
  foreach(other IN LISTS A_USES)
    list(APPEND used $<TARGET_OBJECTS:op_${other}>)
  endforeach()
  set_property(GLOBAL APPEND PROPERTY HALYARD_OPS ${NAME})
  add_library(op_${NAME} OBJECT "${PROJECT_SOURCE_DIR}/kernels/${NAME}.cpp")
  target_compile_definitions(op_${NAME} PRIVATE HALYARD_OP_FILE=${NAME})
  target_link_libraries(op_${NAME} PRIVATE halyard_kernel_base halyard_warnings)

  file(CONFIGURE OUTPUT "${HALYARD_KERNEL_DIR}/list_${NAME}.cpp" CONTENT
"namespace halyard {
class OpTable;
void halyard_list_@NAME@(OpTable &ops);
void list_ops(OpTable &ops);
void list_ops(OpTable &ops) { halyard_list_@NAME@(ops); }
}  // namespace halyard
" @ONLY)
  add_executable(gen_${NAME} "${HALYARD_KERNEL_DIR}/list_${NAME}.cpp" $<TARGET_OBJECTS:op_${NAME}> ${used} $<TARGET_OBJECTS:halyard_gen_main>)
  target_link_libraries(gen_${NAME} PRIVATE halyard_kernel_base)
  set_target_properties(op_${NAME} gen_${NAME} PROPERTIES HALYARD_BUILD_TIME ON)
  set_target_properties(gen_${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/gen")

  set(out "${HALYARD_KERNEL_DIR}/${NAME}")
  set(flags --isas ${_build_isas})
  set(launcher "")
  if(HALYARD_SANITIZE)
    list(APPEND flags --sanitize ${HALYARD_SANITIZE})
    # libHalide keeps what it has built, and a sanitizer can't follow its change of stacks.
    set(launcher "${CMAKE_COMMAND}" -E env ASAN_OPTIONS=detect_leaks=0 HL_COMPILER_STACK_SIZE=0)
  endif()
  add_custom_command(OUTPUT ${out}.kernels.a ${out}.records.cpp ${out}.face.h
    COMMAND ${launcher} $<TARGET_FILE:gen_${NAME}> --out "${HALYARD_KERNEL_DIR}" --name ${NAME} ${flags}
    DEPENDS gen_${NAME}
    COMMENT "Kernels of ${NAME}"
    VERBATIM)
endfunction()

# Defines halyard_kernels (records and kernels of all op files, for the run time), the generated header primitives/ops.h
# and op_sources (the build-time code of all op files, for development tools).
function(halyard_ops_done)
  get_property(ops GLOBAL PROPERTY HALYARD_OPS)
  set(declarations "")
  set(pointers "")
  set(lists "")
  set(calls "")
  set(faces "")
  set(records "")
  set(archives "")
  set(headers "")
  add_library(op_sources INTERFACE)
  target_link_libraries(op_sources INTERFACE halyard_kernel_base)
  foreach(op IN LISTS ops)
    string(APPEND declarations "extern const OpFile op_file_${op};\n")
    string(APPEND pointers "        &op_file_${op},\n")
    string(APPEND lists "void halyard_list_${op}(OpTable &ops);\n")
    string(APPEND calls "    halyard_list_${op}(ops);\n")
    string(APPEND faces "#include \"kernels/${op}.face.h\"\n")
    list(APPEND records "${HALYARD_KERNEL_DIR}/${op}.records.cpp")
    list(APPEND archives "${HALYARD_KERNEL_DIR}/${op}.kernels.a")
    list(APPEND headers "${HALYARD_KERNEL_DIR}/${op}.face.h")
    target_sources(op_sources INTERFACE $<TARGET_OBJECTS:op_${op}>)
  endforeach()
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/op_files.cpp" CONTENT
"#include \"registry/op_files.h\"

namespace halyard {

@declarations@
std::vector<const OpFile *> op_files() {
    return {
@pointers@    };
}

}  // namespace halyard
" @ONLY)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/list_all_ops.cpp" CONTENT
"#include \"dsl/op.h\"
#include \"dsl/all_ops.h\"

namespace halyard {

@lists@
void list_all_ops(OpTable &ops) {
@calls@}

}  // namespace halyard
" @ONLY)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/primitives/ops.h" CONTENT
"// Every primitive, as an object (ops::) and as a function (F::). Generated.
#pragma once
@faces@" @ONLY)
  add_custom_target(halyard_faces DEPENDS ${headers})
  add_library(halyard_kernels OBJECT ${records} "${CMAKE_BINARY_DIR}/generated/op_files.cpp")
  target_include_directories(halyard_kernels PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(halyard_kernels PRIVATE halyard_flags)
  # Tables that run once: optimised or instrumented, their one long initialiser costs the compiler minutes.
  set_target_properties(halyard_kernels PROPERTIES HALYARD_BUILD_TIME ON)
  target_compile_options(halyard_kernels PRIVATE -O0)
  add_custom_target(halyard_kernel_archives DEPENDS ${archives})
  add_library(halyard_kernel_code INTERFACE)
  target_link_libraries(halyard_kernel_code INTERFACE ${archives})
  add_dependencies(halyard_kernel_code halyard_kernel_archives)
  target_sources(op_sources INTERFACE "${CMAKE_BINARY_DIR}/generated/list_all_ops.cpp")
endfunction()
