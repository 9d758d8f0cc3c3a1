// The job script: its grammar, templates, macros and conditions, over an engine in memory. Input:
// the script. Nothing of it reaches a file.

#include "fuzz/fuzz.h"
#include "jobs/script/interpreter.h"
#include "script/fake_engine.h"
#include "script/no_jobs.h"

namespace capstan {
namespace {

void run(std::string_view input) {
  script::FakeEngine engine(script::FakeEngine::kWithoutFiles);
  script::NoJobs jobs;
  script::KeepingListener listener;
  script::Session session(engine, jobs, script::Paths("/nowhere/home", "/nowhere/root"), listener);
  session.jobs_dir.clear();
  script::run_script(session, {"fuzz", std::string(input)});
}

}  // namespace

// Few and short: the replay runs each a few thousand times.
std::vector<std::string> fuzz_seeds() {
  return {
      R"(set d="01" where type="defaultParam"; select 1 as a, '${d}' as b as `t_${d}`; !show tables;)",
      R"(set c="a|b"; load csvStr.`c` where and delimiter="|" -- x
as t; save overwrite t as json.`/x` where fileNum="2" partitionBy a,b;)",
      R"(set m='''select {} as a, {1:7} as b as {-1:next(named,u)}'''; !m 1 named v; !m _ -x 1;)",
      R"(set n="5"; !if ''' :n > 3 and "x" == 'x' '''; !then; select 1 as a as t; !else; !fi;)",
      R"(select 1 as a as t; run t as TableRepartition.`` where `partitionNum`="3" as u; !desc u;)",
      R"(set n=`select 2 as a` where type="sql"; insert into t select ${n} as a; drop table t;)",
      R"(connect jdbc where url="j" as db; include demo.`a.b`; register DTF.`/m` as f where k.0="1";)",
      R"(/* c */ select ${date.toString("yyyy")} as a as t; !last named r; !println '''a"b''' c/d-e;)",
  };
}

}  // namespace capstan

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    capstan::run({reinterpret_cast<const char*>(data), size});
  } catch (const capstan::Error&) {  // refusing is right; crashing is not
  }
  return 0;
}
