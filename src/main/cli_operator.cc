#include "main/options.h"
#include "main/parse.h"

namespace capstan::cli {

int command_operator(const std::vector<std::string>& args) {
  CLI::App app("Runs the TFJobs of a Kubernetes cluster: makes pods, watches and ends them",
               "capstan operator");
  OperatorOptions options;
  app.add_option("--kubeconfig", options.kubeconfig,
                 "How to reach the cluster; else KUBECONFIG, ~/.kube/config, or the pod's own");
  app.add_option("--context", options.context, "Of the kubeconfig, if not its current one");
  app.add_option("--namespace", options.space, "Only jobs of this namespace; else all");
  app.add_flag("--leader-elect", options.leader_elect,
               "Of several operators one acts; another takes over within 3 s");
  app.add_option("--lease-namespace", options.lease_space,
                 "Where the lease of --leader-elect is; else the kubeconfig's namespace");
  app.add_option("--gang-scheduler-name", options.gang_scheduler,
                 "volcano, or a scheduler of scheduler-plugins: pods of a job are placed together");
  app.add_option("--cluster-domain", options.domain,
                 "Appended to the names in TF_CONFIG; else CUSTOM_CLUSTER_DOMAIN")
      ->envname("CUSTOM_CLUSTER_DOMAIN");
  app.add_flag("--take-over", options.take_over,
               "Also jobs whose status another operator writes, as Kubeflow's: it is gone");
  app.footer(
      "Goes on with whatever an operator before it began, and leaves pods alone when it ends.\n"
      "Ends in order on SIGTERM and SIGINT. A job whose status another operator writes is left to "
      "it, "
      "and\nthat is said in an event.\n\n"
      "Examples:\n"
      "  capstan operator\n"
      "  capstan operator --kubeconfig ~/.kube/test --namespace train\n"
      "  capstan operator --leader-elect --gang-scheduler-name volcano\n");
  parse_all(app, args);
  return run_operator(options);
}

}  // namespace capstan::cli
