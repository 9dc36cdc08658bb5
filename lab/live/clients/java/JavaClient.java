// The Java client: a shared informer, and objects that are made and read. Arguments as those of the Go program.

import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.util.Config;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

public class JavaClient {
  static final long PAUSE = 150;
  static final long SETTLE = 20_000;

  /** Counts one kind of work; errors by their first words. */
  static class Work {
    int done;
    int gaps;
    int duplicates;
    final Map<String, Integer> errors = new HashMap<>();

    synchronized void failed(Throwable error) {
      String text =
          error instanceof ApiException answer && answer.getCode() != 0
              ? answer.getCode() + ": " + answer.getResponseBody()
              : String.valueOf(error);
      text = text.lines().findFirst().orElse("");
      errors.merge(text.substring(0, Math.min(160, text.length())), 1, Integer::sum);
    }

    boolean count(Callable<?> act) {
      try {
        act.call();
        done++;
        return true;
      } catch (Exception error) {
        failed(error);
        return false;
      }
    }

    Map<String, Object> figures() {
      return Map.of("done", done, "errors", errors, "gaps", gaps, "duplicates", duplicates);
    }
  }

  /** What the informer has shown. */
  static class Seen implements ResourceEventHandler<V1ConfigMap> {
    final Map<String, Integer> adds = new HashMap<>();
    final Work work;

    Seen(Work work) {
      this.work = work;
    }

    public synchronized void onAdd(V1ConfigMap object) {
      work.done++;
      if (adds.merge(object.getMetadata().getName(), 1, Integer::sum) > 1) work.duplicates++;
    }

    public void onUpdate(V1ConfigMap before, V1ConfigMap after) {}

    public void onDelete(V1ConfigMap object, boolean isStateUnknown) {}

    synchronized int missing(List<String> written) {
      return (int) written.stream().filter(name -> !adds.containsKey(name)).count();
    }
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, String> options = new HashMap<>();
    for (int at = 0; at + 1 < arguments.length; at += 2) options.put(arguments[at], arguments[at + 1]);
    String namespace = options.get("--namespace");
    var client = Config.fromConfig(options.get("--kubeconfig"));
    client.setReadTimeout(0);
    var api = new CoreV1Api(client);
    Work informer = new Work();
    Work writing = new Work();
    Seen seen = new Seen(informer);
    var factory = new SharedInformerFactory(client);
    factory
        .sharedIndexInformerFor(
            params ->
                api.listNamespacedConfigMap(namespace)
                    .resourceVersion(params.resourceVersion)
                    .timeoutSeconds(params.timeoutSeconds)
                    .watch(params.watch)
                    .buildCall(null),
            V1ConfigMap.class,
            V1ConfigMapList.class,
            0L,
            (type, error) -> informer.failed(error))
        .addEventHandler(seen);
    factory.startAllRegisteredInformers();

    // SIGTERM runs the hooks, and the process ends with the last of them: this one waits for the figures.
    CountDownLatch told = new CountDownLatch(1);
    CountDownLatch over = new CountDownLatch(1);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  told.countDown();
                  try {
                    over.await();
                  } catch (InterruptedException ignored) {
                    Thread.currentThread().interrupt();
                  }
                }));
    System.out.println("ready");
    List<String> written = new ArrayList<>();
    for (int number = 0; !told.await(PAUSE, TimeUnit.MILLISECONDS); number++) {
      String name = "java-" + number;
      var body = new V1ConfigMap().metadata(new V1ObjectMeta().name(name));
      if (!writing.count(() -> api.createNamespacedConfigMap(namespace, body).execute())) continue;
      written.add(name);
      writing.count(() -> api.readNamespacedConfigMap(name, namespace).execute());
    }
    for (long end = System.currentTimeMillis() + SETTLE;
        System.currentTimeMillis() < end && seen.missing(written) > 0; ) Thread.sleep(PAUSE);
    informer.gaps = seen.missing(written);
    var figures = Map.of("informer", informer.figures(), "writing", writing.figures());
    System.out.println(new com.google.gson.Gson().toJson(figures));
    System.out.flush();
    over.countDown();
  }
}
