# Writes a source out of the report's page: page.html with the style and the scripts in their places.
# cmake -DFOLDER=<folder> -DOUTPUT=<file> -P embed.cmake
file(READ ${FOLDER}/page.html page)
file(READ ${FOLDER}/page.css style)
set(script "\"use strict\";\n\n")
foreach(name text record chart timeline sections)
  file(READ ${FOLDER}/${name}.js part)
  string(APPEND script "${part}\n")
endforeach()
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
file(WRITE ${OUTPUT} "#include \"train/report/report.h\"\n\nnamespace yoke {\n\nstd::string_view ReportTemplate() {\n"
                     "  return R\"embedded(${page})embedded\";\n}\n\n}  // namespace yoke\n")
