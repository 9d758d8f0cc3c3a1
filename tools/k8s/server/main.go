// The parts of a Kubernetes control plane that the tests need, in one program: the first argument
// chooses which one it is.
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func usage() int {
	fmt.Fprintln(os.Stderr, "usage: k8s etcd|apiserver|controllers|scheduler|kubectl [flags]")
	return 2
}

func run(part string) int {
	switch part {
	case "etcd":
		etcdmain.Main(os.Args)
		return 0
	case "apiserver":
		return cli.Run(apiserver.NewAPIServerCommand())
	case "controllers":
		return cli.Run(controllers.NewControllerManagerCommand())
	case "scheduler":
		return cli.Run(scheduler.NewSchedulerCommand())
	case "kubectl":
		return cli.Run(kubectl.NewDefaultKubectlCommand())
	}
	return usage()
}

func main() {
	if len(os.Args) < 2 {
		os.Exit(usage())
	}
	part := os.Args[1]
	os.Args = append(os.Args[:1], os.Args[2:]...)
	os.Exit(run(part))
}
