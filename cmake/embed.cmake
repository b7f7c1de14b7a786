# embed.cmake - writes ${OUTPUT}, a C file with the text of every file that ${PATTERN} names:
# `${ARRAY}`, an array of ${TYPE} { "${PREFIX}NAME", text }, and `${COUNT}`, both declared in
# ${HEADER}.
file(GLOB paths ${PATTERN})
list(SORT paths)
set(text "#include \"${HEADER}\"\n\nconst ${TYPE} ${ARRAY}[] = {\n")
set(count 0)
foreach(path ${paths})
    get_filename_component(name ${path} NAME)
    file(READ ${path} content)
    string(REPLACE "\\" "\\\\" content "${content}")
    string(REPLACE "\"" "\\\"" content "${content}")
    string(REPLACE "\n" "\\n\"\n     \"" content "${content}")
    string(APPEND text "    {\"${PREFIX}${name}\",\n     \"${content}\"},\n")
    math(EXPR count "${count} + 1")
endforeach()
string(APPEND text "};\n\nconst int ${COUNT} = ${count};\n")
file(WRITE ${OUTPUT} "${text}")
