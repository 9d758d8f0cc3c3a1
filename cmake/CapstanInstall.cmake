# `cmake --install`: headers, one static library, find_package(Capstan), pkg-config, the program and
# its Python side. The wheel wraps the same tree, with the prefix inside the package.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(CAPSTAN_ROOMS base tensor graph io build kernel ops plan exec net cluster session train)

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
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/capstan
        FILES_MATCHING PATTERN "*.h" PATTERN main EXCLUDE)
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
  foreach(package tensorflow pyjava tensorflowonspark)
    if(EXISTS ${CMAKE_SOURCE_DIR}/python/${package})
      install(DIRECTORY python/${package} DESTINATION ${front_dir} FILES_MATCHING PATTERN "*.py")
    endif()
  endforeach()
endif()
