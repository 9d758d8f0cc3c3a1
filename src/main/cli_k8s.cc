// `capstan validate | apply`: files with TFJobs.

#include <fmt/format.h>

#include "main/options.h"
#include "main/parse.h"

namespace capstan::cli {

int command_validate(const std::vector<std::string>& args) {
  CLI::App app("Checks TFJobs, and shows their defaults and the TF_CONFIG of each replica",
               "capstan validate");
  ValidateOptions options;
  app.add_option("FILE", options.files, "YAML or JSON, one document or several; - is the input");
  app.add_option("--cluster-domain", options.cluster_domain,
                 "What the operator is told of the cluster, as in cluster.local");
  app.add_flag("--quiet", options.quiet, "Only what is wrong, and warnings");
  app.add_flag("--json", options.json, "One JSON object for each job");
  app.add_flag("--print-crd", options.print_crd,
               "Print the CustomResourceDefinition of TFJobs instead");
  app.footer(
      "Unknown fields are errors here; a cluster would drop them in silence. The exit code is 0 if "
      "all\nis well, warnings aside, and 2 if something is wrong.\n\n"
      "Examples:\n"
      "  capstan validate tfjob.yaml\n"
      "  capstan validate --quiet jobs/*.yaml\n"
      "  capstan validate --print-crd | kubectl apply -f -\n");
  parse_words(app, args);
  if (options.files.empty() && !options.print_crd) {
    throw UsageError{"capstan validate: which file? capstan validate --help"};
  }
  return validate_files(options);
}

int command_apply(const std::vector<std::string>& args) {
  CLI::App app("Runs the TFJobs of a file: in a cluster, or as processes of this machine",
               "capstan apply");
  ApplyOptions options;
  std::vector<std::string> env;
  app.add_option("FILE,-f,--filename", options.files,
                 "YAML or JSON, one document or several; - is the input")
      ->required();
  add_where(app, options.where);
  app.add_flag("--follow", options.follow,
               "In a cluster: show what the jobs print until they have ended; the exit code tells "
               "how");
  app.add_flag("--dry-run", options.dry_run,
               "In a cluster: the server checks the jobs, and nothing is changed");
  app.add_option("--image", options.images,
                 "With --local: IMAGE=PROGRAM or IMAGE=FOLDER, what stands for an image here; "
                 "without IMAGE= for every one; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--env", env, "With --local: NAME=VALUE for every task; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--log-dir", options.log_dir, "With --local: keep each task's log there");
  app.add_flag("--detach", options.detach,
               "Leave the jobs in the background and print their ids; capstan status shows them");
  app.add_flag("--quiet", options.quiet, "Show failures and results, not what tasks print");
  app.add_flag("--json", options.json, "Events as JSON lines instead of text");
  app.add_option("--python", options.python, "With --local: interpreter for scripts");
  app.footer(
      "A job goes to the cluster of the kubeconfig (--kubeconfig, else KUBECONFIG, ~/.kube/config, "
      "or "
      "the\npod's own); with --local, or where no cluster is known, it runs here. In a cluster a "
      "job "
      "is made, or\nchanged where the file says otherwise; what the file does not name stays. "
      "Unknown "
      "fields are errors: a\ncluster would drop them in silence.\n\n"
      "With --local a container's command runs on this machine, as Kubernetes would run it: its "
      "arguments,\nenvironment and TF_CONFIG, its restart policy, the job's limits. An image is "
      "what --image says: a\nprogram (.py runs with Capstan), a command in quotes, or a folder in "
      "which main.py is run unless\nthe container has a command. Memory limits are kept; GPUs are "
      "noted and left out.\n\n"
      "Examples:\n"
      "  capstan apply tfjob.yaml --follow\n"
      "  capstan apply -n train tfjob.yaml\n"
      "  capstan apply --local tfjob.yaml --image main.py\n"
      "  capstan apply --local tfjob.yaml --image example/mnist:1=./mnist --env MODEL_DIR=/tmp/m\n"
      "  capstan apply --local tfjob.yaml --image 'example/mnist=main.py --steps 500' --detach\n");
  parse_words(app, args);
  for (const std::string& entry : env) options.env.push_back(env_entry(app, entry));
  return apply_files(options);
}

}  // namespace capstan::cli
