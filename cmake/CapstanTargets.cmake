# capstan_library(room DEPS a b): globs src/<room> (or the FOLDERS given), makes the library, and
# makes <room>_test from the *_test.cc beside the code.

function(capstan_proto)
  file(GLOB protos CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/proto/*.proto)
  list(FILTER protos EXCLUDE REGEX "/config\\.proto$")  # Python's alone
  set(out ${CMAKE_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${out})
  set(sources)
  foreach(proto ${protos})
    get_filename_component(name ${proto} NAME_WE)
    add_custom_command(
      OUTPUT ${out}/${name}.pb.cc ${out}/${name}.pb.h
      COMMAND protobuf::protoc --cpp_out=${out} -I${CMAKE_SOURCE_DIR}/proto ${proto}
      DEPENDS ${protos})
    list(APPEND sources ${out}/${name}.pb.cc)
  endforeach()
  add_library(proto STATIC ${sources})
  target_include_directories(proto SYSTEM PUBLIC ${CMAKE_BINARY_DIR})
  target_include_directories(proto SYSTEM PRIVATE ${out} PUBLIC ${out})
  target_compile_options(proto PRIVATE -w)
  target_link_libraries(proto PUBLIC protobuf::libprotobuf-lite)
endfunction()

# Compiled once, used by every room: what nearly all of them include. A file still names what it needs:
# the builds with clang go without, and hold that.
function(capstan_library_headers)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/library_headers.cc CONTENT "")
  add_library(library_headers OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/library_headers.cc)
  target_link_libraries(library_headers PRIVATE fmt::fmt Threads::Threads)
  target_precompile_headers(library_headers PRIVATE <fmt/format.h> <algorithm> <functional> <map>
                            <memory> <mutex> <optional> <string> <string_view> <vector>)
endfunction()

function(capstan_library room)
  cmake_parse_arguments(ARG "" "" "DEPS;TEST_DEPS;FOLDERS" ${ARGN})
  set(root ${CMAKE_SOURCE_DIR})
  if(NOT ARG_FOLDERS)
    set(ARG_FOLDERS src/${room})
    set(root)
    set_property(GLOBAL APPEND PROPERTY CAPSTAN_ROOMS ${room})
  endif()
  list(TRANSFORM ARG_FOLDERS PREPEND ${CMAKE_SOURCE_DIR}/)
  list(TRANSFORM ARG_FOLDERS APPEND /*.cc)
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_FOLDERS})
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(${room} STATIC ${sources})
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      if(NOT TARGET library_headers)
        capstan_library_headers()
      endif()
      target_precompile_headers(${room} REUSE_FROM library_headers)
    endif()
    set(kind PUBLIC)
  else()
    add_library(${room} INTERFACE)
    set(kind INTERFACE)
  endif()
  # Sanitizers look at what is computed, not at how fast: one instruction set builds in a third of the time.
  if(sources AND CAPSTAN_SANITIZE AND room MATCHES "^(math|kernel|ops)$")
    target_compile_definitions(${room} PRIVATE HWY_COMPILE_ONLY_STATIC)
  endif()
  target_include_directories(${room} ${kind} ${CMAKE_SOURCE_DIR}/src ${root})
  target_link_libraries(${room} ${kind} ${ARG_DEPS} fmt::fmt Threads::Threads)
  if(tests AND CAPSTAN_TESTS)
    capstan_test(${room}_test SOURCES ${tests} DEPS ${room} ${ARG_TEST_DEPS})
  endif()
endfunction()

# op_families() of src/ops: made from the files that have rows.
function(capstan_op_families)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/ops/*.cc)
  set(script ${CMAKE_SOURCE_DIR}/cmake/families.cmake)
  set(out ${CMAKE_BINARY_DIR}/families.cc)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_SOURCE_DIR}/src/ops -DOUT=${out} -P ${script}
    DEPENDS ${files} ${script})
  target_sources(ops PRIVATE ${out})
endfunction()

# capstan/ops.h: a C++ function per row.
function(capstan_ops_header)
  set(out ${CMAKE_BINARY_DIR}/made/capstan)
  file(MAKE_DIRECTORY ${out})
  add_executable(make_ops ${CMAKE_SOURCE_DIR}/tools/make_ops.cc)
  target_link_libraries(make_ops PRIVATE ops)
  add_custom_command(OUTPUT ${out}/ops.h COMMAND make_ops ${out}/ops.h DEPENDS make_ops VERBATIM)
  add_custom_target(ops_header ALL DEPENDS ${out}/ops.h)
endfunction()

# What C++ has of the rows of src/build: build/composites.h, build/optimizers.h, and the lists of rows.
function(capstan_builders)
  file(GLOB rows CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/build/*.cc)
  set(tool ${CMAKE_SOURCE_DIR}/tools/make_builders.py)
  set(out ${CMAKE_BINARY_DIR}/made/build)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(
    OUTPUT ${out}/composites.h ${out}/optimizers.h ${out}/families.cc
    COMMAND ${Python_EXECUTABLE} ${tool} ${CMAKE_SOURCE_DIR}/src/build ${out}
    DEPENDS ${tool} ${rows} VERBATIM)
  target_sources(build PRIVATE ${out}/composites.h ${out}/optimizers.h ${out}/families.cc)
  target_include_directories(build PUBLIC ${CMAKE_BINARY_DIR}/made)
endfunction()

# Compiled once, used by every test: gmock alone costs a second per file.
function(capstan_test_headers)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/test_headers.cc CONTENT "int main() {}\n")
  add_executable(test_headers EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/test_headers.cc)
  target_link_libraries(test_headers PRIVATE fmt::fmt Threads::Threads GTest::gmock)
  target_precompile_headers(test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <fmt/format.h>
                            <functional> <map> <memory> <string> <thread> <vector>)
endfunction()

# The one object that knows where the repository lies: were its path in the flags of every test, no
# clone could use what another left in ccache.
function(capstan_source_dir)
  add_library(source_dir STATIC EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/source_dir.cc)
  target_include_directories(source_dir PUBLIC ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(source_dir PRIVATE CAPSTAN_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
endfunction()

# One GoogleTest program; ctest sees each of its cases.
function(capstan_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT TARGET test_headers)
    capstan_test_headers()
    capstan_source_dir()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_precompile_headers(${name} REUSE_FROM test_headers)
  # A test may build graphs out of real ops, whatever its room.
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} source_dir GTest::gmock GTest::gtest_main)
  include(GoogleTest)
  # "net.Frame.RefusesTooLong": a pattern may name a room.
  string(REGEX REPLACE "_test$" "" prefix ${name})
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       TEST_PREFIX ${prefix}. PROPERTIES TIMEOUT 120)
endfunction()
