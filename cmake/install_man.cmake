# Writes the manual pages of the program, of its commands and of a job's keys below a folder.
# cmake -DYOKE=<program> -DFOLDER=<folder> -P install_man.cmake
function(write_page name section)
  file(MAKE_DIRECTORY ${FOLDER}/man${section})
  execute_process(COMMAND ${YOKE} man ${ARGN} OUTPUT_FILE ${FOLDER}/man${section}/${name}.${section}
                  COMMAND_ERROR_IS_FATAL ANY)
endfunction()

execute_process(COMMAND ${YOKE} man OUTPUT_VARIABLE page COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\\.BR yoke\\\\-[a-z]+ \\(1\\)" commands "${page}")
write_page(yoke 1)
write_page(yoke-keys 5 keys)
foreach(line ${commands})
  string(REGEX REPLACE ".*-([a-z]+) .*" "\\1" command "${line}")
  write_page(yoke-${command} 1 ${command})
endforeach()
