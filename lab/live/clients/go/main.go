// A client of client-go for the live suite: informers, the dynamic client, leader election and server-side apply, at
// work until it gets SIGTERM. It prints `ready` once it is, and at its end one line of JSON: what it did and what went
// wrong, by kind of work.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Every so often something is done.
const pause = 150 * time.Millisecond

// How long events may take to arrive once writing has ended.
const settle = 20 * time.Second

// work counts one kind of work; errors by their first words.
type work struct {
	lock       sync.Mutex
	Done       int            `json:"done"`
	Errors     map[string]int `json:"errors"`
	Gaps       int            `json:"gaps"`
	Duplicates int            `json:"duplicates"`
}

func (w *work) count(err error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if err == nil {
		w.Done++
		return
	}
	text := err.Error()
	if len(text) > 160 {
		text = text[:160]
	}
	w.Errors[text]++
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path")
	namespace := flag.String("namespace", "default", "where everything is put")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	must(err)
	config.QPS, config.Burst = 200, 400
	client := kubernetes.NewForConfigOrDie(config)
	dynamicClient := dynamic.NewForConfigOrDie(config)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	// The informer goes on after the others, until it has seen what they wrote.
	watching, stopWatching := context.WithCancel(context.Background())
	defer stopWatching()

	newWork := func() *work { return &work{Errors: map[string]int{}} }
	informer, dynamicWork, election, apply := newWork(), newWork(), newWork(), newWork()
	seen := follow(watching, client, *namespace, informer)

	var all sync.WaitGroup
	var written []string
	all.Add(3)
	go func() { defer all.Done(); written = write(ctx, dynamicClient, *namespace, dynamicWork) }()
	go func() { defer all.Done(); lead(ctx, client, *namespace, election) }()
	go func() { defer all.Done(); applyAgain(ctx, client, *namespace, apply) }()
	fmt.Println("ready")
	all.Wait()

	for end := time.Now().Add(settle); time.Now().Before(end) && seen.missing(written) > 0; {
		time.Sleep(pause)
	}
	informer.Gaps = seen.missing(written)
	must(json.NewEncoder(os.Stdout).Encode(map[string]*work{
		"informer": informer, "dynamic": dynamicWork, "leader election": election, "server-side apply": apply,
	}))
}

// names remembers what an informer has shown.
type names struct {
	lock sync.Mutex
	adds map[string]int
}

func (n *names) missing(written []string) int {
	n.lock.Lock()
	defer n.lock.Unlock()
	count := 0
	for _, name := range written {
		if n.adds[name] == 0 {
			count++
		}
	}
	return count
}

// follow runs a shared informer; what its reflector reports is an error, an object that is added twice a duplicate.
func follow(ctx context.Context, client kubernetes.Interface, namespace string, counted *work) *names {
	seen := &names{adds: map[string]int{}}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	configMaps := factory.Core().V1().ConfigMaps().Informer()
	must(configMaps.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { counted.count(err) }))
	_, err := configMaps.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			name := object.(*corev1.ConfigMap).Name
			seen.lock.Lock()
			seen.adds[name]++
			again := seen.adds[name] > 1
			seen.lock.Unlock()
			counted.count(nil)
			if again {
				counted.lock.Lock()
				counted.Duplicates++
				counted.lock.Unlock()
			}
		},
	})
	must(err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return seen
}

// write creates objects one after the other and reads each back.
func write(ctx context.Context, client dynamic.Interface, namespace string, counted *work) []string {
	configMaps := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(namespace)
	var written []string
	for number := 0; ctx.Err() == nil; number++ {
		name := fmt.Sprintf("written-%d", number)
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
		}}
		_, err := configMaps.Create(context.Background(), object, metav1.CreateOptions{})
		counted.count(err)
		if err == nil {
			written = append(written, name)
			_, err = configMaps.Get(context.Background(), name, metav1.GetOptions{})
			counted.count(err)
		}
		time.Sleep(pause)
	}
	return written
}

// lead holds a Lease with the times of kube-controller-manager; each time that it is lost is an error.
func lead(ctx context.Context, client kubernetes.Interface, namespace string, counted *work) {
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Name: "live", Namespace: namespace},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: "live"},
	}
	for ctx.Err() == nil {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { counted.count(nil) },
				OnStoppedLeading: func() {
					if ctx.Err() == nil {
						counted.count(fmt.Errorf("the lease was lost"))
					}
				},
			},
		})
	}
}

// applyAgain applies a Deployment with another value each time and looks at what came back.
func applyAgain(ctx context.Context, client kubernetes.Interface, namespace string, counted *work) {
	for number := 0; ctx.Err() == nil; number++ {
		value := fmt.Sprint(number)
		labels := map[string]string{"app": "live"}
		deployment := appsac.Deployment("applied", namespace).
			WithAnnotations(map[string]string{"live/number": value}).
			WithSpec(appsac.DeploymentSpec().WithReplicas(0).
				WithSelector(metaac.LabelSelector().WithMatchLabels(labels)).
				WithTemplate(coreac.PodTemplateSpec().WithLabels(labels).
					WithSpec(coreac.PodSpec().WithContainers(coreac.Container().WithName("web").WithImage("web")))))
		applied, err := client.AppsV1().Deployments(namespace).
			Apply(context.Background(), deployment, metav1.ApplyOptions{FieldManager: "live"})
		if err == nil && applied.Annotations["live/number"] != value {
			err = fmt.Errorf("the value applied is not there")
		}
		counted.count(err)
		time.Sleep(pause)
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
