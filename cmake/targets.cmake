# Options every target of ours gets, and the one way to declare a layer.
add_library(ws_options INTERFACE)
target_compile_options(ws_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
                       # two warnings that g++ 12 gives wrongly under optimization (GCC bugs 105562, 105651)
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                       $<$<BOOL:${WALLSIGHT_WERROR}>:-Werror>)
target_include_directories(ws_options INTERFACE ${PROJECT_SOURCE_DIR}/analyzer)
if(WALLSIGHT_SANITIZE)
  target_compile_options(ws_options INTERFACE -fsanitize=${WALLSIGHT_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(ws_options INTERFACE -fsanitize=${WALLSIGHT_SANITIZE})
endif()

# ws_layer(NAME SOURCES a.cpp ... LINK left_neighbour external ...): static library ws_NAME of one layer.
function(ws_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(ws_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(ws_${name} PUBLIC ws_options ${ARG_LINK})
endfunction()
