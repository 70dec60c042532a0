# What an installation consists of, and the Debian package made of it. The binary finds its data at
# ../share/wallsight relative to itself, so any prefix works.
install(DIRECTORY rules schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/wallsight
        FILES_MATCHING PATTERN "*.json" PATTERN "*.sql" PATTERN "*.proto" PATTERN "*.md")
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the wallsight developers <wallsight@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
