# Writes a source out of a text file. cmake -DTEXT=<file> -DHEADER=<header> -DFUNCTION=<name> -DOUTPUT=<file> -P embed.cmake
file(READ ${TEXT} text)
file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\nnamespace yoke {\n\nstd::string_view ${FUNCTION}() {\n"
                     "  return R\"embedded(${text})embedded\";\n}\n\n}  // namespace yoke\n")
