# embed.cmake - writes ${OUTPUT}, a C file with the text of every file that ${PATTERN} names:
# `${ARRAY}`, an array of ${TYPE} { "${PREFIX}NAME", text }, and `${COUNT}`, both declared in
# ${HEADER}. With ${KEYWORDS}, such as `proc|schedule`, there is also an index of the lines that
# start with one of these words and a name: `${ARRAY}_index`, an array of LibraryLine
# { "proc NAME", number of the file, offset of the line } in the order of strcmp, and its length
# `${ARRAY}_index_count`.
file(GLOB paths ${PATTERN})
list(SORT paths)
set(text "#include \"${HEADER}\"\n\nconst ${TYPE} ${ARRAY}[] = {\n")
set(count 0)
set(index "")
foreach(path ${paths})
    get_filename_component(name ${path} NAME)
    file(READ ${path} content)
    if(KEYWORDS)
        string(REGEX MATCHALL "\n(${KEYWORDS}) [A-Za-z0-9_]+[^A-Za-z0-9_]" lines "\n${content}")
        foreach(line IN LISTS lines)
            string(FIND "\n${content}" "${line}" offset)
            string(REGEX MATCH "[A-Za-z0-9_ ]*[A-Za-z0-9_]" line "${line}")
            list(APPEND index "{\"${line}\", ${count}, ${offset}}")
        endforeach()
    endif()
    string(REPLACE "\\" "\\\\" content "${content}")
    string(REPLACE "\"" "\\\"" content "${content}")
    string(REPLACE "\n" "\\n\"\n     \"" content "${content}")
    string(APPEND text "    {\"${PREFIX}${name}\",\n     \"${content}\"},\n")
    math(EXPR count "${count} + 1")
endforeach()
string(APPEND text "};\n\nconst int ${COUNT} = ${count};\n")
if(KEYWORDS)
    list(SORT index)
    list(LENGTH index length)
    list(JOIN index ",\n    " index)
    string(APPEND text "\nconst LibraryLine ${ARRAY}_index[] = {\n    ${index},\n};\n\n"
           "const int ${ARRAY}_index_count = ${length};\n")
endif()
file(WRITE ${OUTPUT} "${text}")
