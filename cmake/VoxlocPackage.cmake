# SPDX-License-Identifier: Apache-2.0
# What find_package(voxloc) and pkg-config read of an installed component.
include(CMakePackageConfigHelpers)

# Installs with the component the package's configuration, which all components share, and NAME.pc of
# NAME.pc.in. Nothing of it is in a plain installation.
function(voxloc_install_package component pc_file)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/voxloc)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/voxlocConfig.cmake.in voxlocConfig.cmake
    INSTALL_DESTINATION ${package})
  write_basic_package_version_file(voxlocConfigVersion.cmake COMPATIBILITY SameMajorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/voxlocConfig.cmake
                ${CMAKE_CURRENT_BINARY_DIR}/voxlocConfigVersion.cmake
    DESTINATION ${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
  # Wherever the whole is put, the file finds its folder.
  file(RELATIVE_PATH VOXLOC_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "[.]in$" "" pc ${pc_file})
  configure_file(${pc_file} ${pc} @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${pc}
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
