# `cmake --install`: headers, one static library, find_package(Capstan), pkg-config, the program and
# its Python side. The wheel wraps the same tree, with the prefix inside the package.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(CAPSTAN_ROOMS GLOBAL PROPERTY CAPSTAN_ROOMS)

# The rooms' objects in one archive: users link one library, and nothing is compiled twice.
set(objects $<TARGET_OBJECTS:proto>)
foreach(room ${CAPSTAN_ROOMS})
  get_target_property(type ${room} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND objects $<TARGET_OBJECTS:${room}>)
  endif()
endforeach()
add_library(capstan_archive STATIC ${objects})
set_target_properties(capstan_archive PROPERTIES
  OUTPUT_NAME capstan EXPORT_NAME capstan LINKER_LANGUAGE CXX)
target_compile_features(capstan_archive INTERFACE cxx_std_20)
target_include_directories(capstan_archive INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/capstan>)
target_link_libraries(capstan_archive INTERFACE
  fmt::fmt protobuf::libprotobuf-lite OpenSSL::Crypto ZLIB::ZLIB Threads::Threads
  ${CAPSTAN_PLAIN_LIBRARIES})

install(TARGETS capstan_archive EXPORT CapstanTargets DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS capstan DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${CAPSTAN_DUCKDB}/libduckdb.so DESTINATION lib/capstan OPTIONAL)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/capstan
        FILES_MATCHING PATTERN "*.h" PATTERN main EXCLUDE)
install(DIRECTORY ${CMAKE_BINARY_DIR}/made/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/capstan
        FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${CMAKE_BINARY_DIR}/proto DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/capstan
        FILES_MATCHING PATTERN "*.pb.h")

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Capstan)
install(EXPORT CapstanTargets NAMESPACE Capstan:: DESTINATION ${config_dir})
configure_package_config_file(cmake/CapstanConfig.cmake.in ${CMAKE_BINARY_DIR}/CapstanConfig.cmake
                              INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/CapstanConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/CapstanConfig.cmake ${CMAKE_BINARY_DIR}/CapstanConfigVersion.cmake
        DESTINATION ${config_dir})

list(TRANSFORM CAPSTAN_PLAIN_LIBRARIES PREPEND -l OUTPUT_VARIABLE flags)
list(JOIN flags " " CAPSTAN_PLAIN_FLAGS)
file(RELATIVE_PATH CAPSTAN_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/capstan.pc.in ${CMAKE_BINARY_DIR}/capstan.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/capstan.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# In a wheel the prefix is the package itself: the extension beside its modules, and the names that
# old programs import in a folder of their own, so that nothing else is shadowed.
if(CAPSTAN_PYTHON)
  if(SKBUILD)
    set(package_dir .)
    set(front_dir front)
  else()
    set(package_dir lib/capstan/python/capstan)
    set(front_dir lib/capstan/python)
    install(DIRECTORY python/capstan/ DESTINATION ${package_dir} FILES_MATCHING PATTERN "*.py")
  endif()
  install(TARGETS _capstan LIBRARY DESTINATION ${package_dir})
  install(FILES ${CMAKE_BINARY_DIR}/python/capstan/_names.py
                ${CMAKE_BINARY_DIR}/python/capstan/_messages.bin DESTINATION ${package_dir})
  foreach(package tensorflow pyjava tensorflowonspark)
    if(EXISTS ${CMAKE_SOURCE_DIR}/python/${package})
      install(DIRECTORY python/${package} DESTINATION ${front_dir} FILES_MATCHING PATTERN "*.py")
    endif()
  endforeach()
endif()

# Manual pages and completion come from the program itself. A wheel has no place for them.
if(NOT SKBUILD AND CAPSTAN_PYTHON)
  set(man_dir ${CMAKE_BINARY_DIR}/man)
  set(completion_dir ${CMAKE_BINARY_DIR}/completion)
  file(MAKE_DIRECTORY ${completion_dir})
  add_custom_command(
    OUTPUT ${man_dir}/capstan.1 ${completion_dir}/capstan ${completion_dir}/_capstan
           ${completion_dir}/capstan.fish
    COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/make_man.py $<TARGET_FILE:capstan> ${man_dir}
    COMMAND capstan completion bash > ${completion_dir}/capstan
    COMMAND capstan completion zsh > ${completion_dir}/_capstan
    COMMAND capstan completion fish > ${completion_dir}/capstan.fish
    DEPENDS capstan ${CMAKE_SOURCE_DIR}/tools/make_man.py VERBATIM)
  add_custom_target(capstan_pages ALL DEPENDS ${man_dir}/capstan.1)
  install(DIRECTORY ${man_dir}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  set(data ${CMAKE_INSTALL_DATADIR})
  install(FILES ${completion_dir}/capstan DESTINATION ${data}/bash-completion/completions)
  install(FILES ${completion_dir}/_capstan DESTINATION ${data}/zsh/site-functions)
  install(FILES ${completion_dir}/capstan.fish DESTINATION ${data}/fish/vendor_completions.d)
endif()
