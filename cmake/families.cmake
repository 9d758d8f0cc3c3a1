# cmake -DFOLDER=src/ops -DOUT=families.cc -P families.cmake: joins the rows of all files that have some.

file(GLOB files ${FOLDER}/*.cc)
set(declared)
set(called)
foreach(path ${files})
  get_filename_component(name ${path} NAME_WE)
  file(STRINGS ${path} found REGEX "^OpFamily ${name}_ops\\(\\)")
  if(found)
    string(APPEND declared "OpFamily ${name}_ops();\n")
    list(APPEND called "${name}_ops()")
  endif()
endforeach()
list(JOIN called ", " called)
file(WRITE ${OUT} "#include \"ops/families.h\"\n
namespace capstan {\n
${declared}
std::vector<OpFamily> op_families() { return {${called}}; }\n
}  // namespace capstan\n")
