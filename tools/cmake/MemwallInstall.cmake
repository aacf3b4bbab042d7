# What `cmake --install` and `cpack -G DEB` put where. Component runtime: program, data, man page, completions; component
# development: static libraries, headers, CMake and pkg-config files.
include(CMakePackageConfigHelpers)

if(TARGET memwall)
    install(TARGETS memwall RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
endif()
install(DIRECTORY topologies workloads scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/memwall COMPONENT runtime)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

install(DIRECTORY sim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/memwall COMPONENT development FILES_MATCHING PATTERN "*.h")
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/memwall)
install(EXPORT memwall FILE memwallTargets.cmake NAMESPACE memwall:: DESTINATION ${config_dir} COMPONENT development)
configure_package_config_file(${CMAKE_SOURCE_DIR}/tools/package/memwallConfig.cmake.in
                              ${CMAKE_BINARY_DIR}/memwallConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/memwallConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/memwallConfig.cmake ${CMAKE_BINARY_DIR}/memwallConfigVersion.cmake
        DESTINATION ${config_dir} COMPONENT development)
configure_file(${CMAKE_SOURCE_DIR}/tools/package/memwall.pc.in ${CMAKE_BINARY_DIR}/memwall.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/memwall.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

set(CPACK_PACKAGE_NAME memwall)
set(CPACK_PACKAGE_CONTACT "memwall maintainers <maintainers@users.noreply.a-seed-639a88ba.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME memwall)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmemwall-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "memwall (= ${PROJECT_VERSION}), libboost-dev, libexpected-dev, libfmt-dev, libyaml-cpp-dev, nlohmann-json3-dev, zlib1g-dev")
set(CPACK_DEVELOPMENT_DESCRIPTION "Static libraries and headers of memwall, a simulator of GPU clusters that train large models.")
set(CPACK_RUNTIME_DESCRIPTION "Predicts step time and memory of training large models on GPU clusters, and says where the time goes.")
include(CPack)
