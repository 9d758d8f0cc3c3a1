#include "jobs/script/dtf.h"
#include "jobs/script/dtf_predict.h"

namespace capstan::script {
namespace {

constexpr OptionDef kOptions[] = {
    {.key = "scripts", .doc = "tables that hold the scripts, with commas; each becomes <table>.py"},
    {.key = "entryPoint", .doc = "the script that is run; may be left out where there is one"},
    {.key = "pythonScriptPath",
     .doc = "instead of scripts: a .py file, or a folder with entryPoint or an MLproject"},
    {.key = "pythonDescPath", .doc = "the same as pythonScriptPath"},
    {.key = "condaFile", .doc = "a table; given to the scripts as conda.yaml, builds nothing"},
    {.key = "PYTHON_ENV",
     .doc = "a venv, a conda environment or an interpreter, by name or path; else Capstan's own"},
    {.key = "requirePythonEnv",
     .type = OptionType::kBool,
     .standard = "false",
     .doc = "a PYTHON_ENV that is not found is an error"},
    {.key = "keepVersion",
     .type = OptionType::kBool,
     .standard = "true",
     .doc = "each run makes the next <path>/_model_N; else <path>/model is replaced"},
    {.key = "fileFormat",
     .type = OptionType::kChoice,
     .standard = "json",
     .doc = "of the workers' data files",
     .choices = "json|parquet"},
    {.key = "fitParam.0.fileFormat",
     .type = OptionType::kChoice,
     .standard = "json",
     .doc = "the same as fileFormat, and a parameter of the scripts",
     .choices = "json|parquet"},
    {.key = "fitParam.0.psNum",
     .type = OptionType::kInt,
     .standard = "1",
     .doc = "number of parameter servers; workers are the partitions of the table",
     .least = 0},
    {.key = "fitParam.0.ps.num",
     .type = OptionType::kInt,
     .standard = "1",
     .doc = "the same as fitParam.0.psNum",
     .least = 0},
    {.key = "fitParam.0.chiefIndex",
     .type = OptionType::kInt,
     .standard = "0",
     .doc = "the worker whose model is published",
     .least = 0},
    {.key = "fitParam.0.*", .doc = "parameters of the scripts: conf[\"…\"]"},
    {.key = "timeout",
     .type = OptionType::kNumber,
     .doc = "seconds after which the training is stopped and fails"},
    {.key = "restart",
     .type = OptionType::kInt,
     .standard = "0",
     .doc = "how often tasks that failed for a passing reason are started again",
     .least = 0},
    {.key = "resume",
     .type = OptionType::kBool,
     .standard = "false",
     .doc = "a run that fails leaves what the chief saved; the next with resume goes on from it"},
    {.key = "keepFiles",
     .type = OptionType::kBool,
     .standard = "false",
     .doc = "data and folders of the tasks stay, and are named"},
    {.key = "enableDataLocal",
     .type = OptionType::kBool,
     .standard = "true",
     .doc = "accepted; data is always in a local file"},
    {.key = "PYTHON_PARAMETERS", .doc = "accepted; Python always runs unbuffered"},
};

}  // namespace

std::span<const OptionDef> dtf_train_options() { return kOptions; }

const Algorithm kDtf{
    .name = "DTF",
    .doc = "distributed TensorFlow programs: a worker for each partition, parameter servers",
    .train = dtf_train,
    .train_options = kOptions,
    .predict = dtf_predict,
    .predict_options = dtf_predict_options(),
    .enroll = dtf_enroll,
    .enroll_options = dtf_enroll_options(),
};

}  // namespace capstan::script
