option(CAPSTAN_TESTS "Build the tests" ON)
option(CAPSTAN_PYTHON "Build the Python extension" ON)
option(CAPSTAN_INSTALL "Make the targets that cmake --install needs" OFF)
option(CAPSTAN_FUZZ "Build the fuzz targets of tests/fuzz (clang)" OFF)
# Libraries without a CMake package or pkg-config file that the rooms link by name.
set(CAPSTAN_PLAIN_LIBRARIES leveldb snappy)
# DuckDB is loaded when a script first needs it (jobs/duck): a build works without. tools/fetch_duckdb.py
# puts its library here, before or after.
set(CAPSTAN_DUCKDB "${CMAKE_CURRENT_SOURCE_DIR}/.cache/capstan/duckdb" CACHE PATH
    "The folder with libduckdb.so")
file(CREATE_LINK ${CAPSTAN_DUCKDB}/libduckdb.so ${CMAKE_BINARY_DIR}/libduckdb.so SYMBOLIC)
set(CAPSTAN_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

add_compile_options(-march=x86-64-v2 -Wall -Wextra -Wno-missing-field-initializers)
# A product and a sum may not be joined behind our back: results would differ between builds.
add_compile_options(-ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety)
endif()
if(CAPSTAN_SANITIZE)
  # Undefined behaviour ends the process: a line on the error output is nobody's failure.
  add_compile_options(-fsanitize=${CAPSTAN_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CAPSTAN_SANITIZE})
endif()

# Debian's libfmt is made by gcc, whose names for some of its templates are not clang's.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_definitions(FMT_HEADER_ONLY)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_CURRENT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_package(Python 3.9 COMPONENTS Interpreter REQUIRED)  # for what tools/ makes of the rows
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(Protobuf REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CURL REQUIRED)
find_package(yaml-cpp REQUIRED)
if(CAPSTAN_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
endif()
