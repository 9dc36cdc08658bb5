// The Java client: a shared informer, and objects that are made and read. Arguments as those of the Go program. Run by
// `java -cp <jars of io.kubernetes:client-java> JavaClient.java`.

import com.google.gson.Gson;
import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedIndexInformer;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.util.CallGeneratorParams;
import io.kubernetes.client.util.Config;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

public class JavaClient {
  private static final int PAUSE = 150;
  private static final int SETTLE = 20_000;

  /** One kind of work, as it is printed. */
  static class Work {
    int done;
    final Map<String, Integer> errors = new LinkedHashMap<>();
    int gaps;
    int duplicates;

    synchronized void succeeded() {
      done++;
    }

    synchronized void failed(Throwable error) {
      String code = error instanceof ApiException api ? api.getCode() + " " : "";
      String text = error.getClass().getSimpleName() + ": " + code + error.getMessage();
      errors.merge(text.substring(0, Math.min(160, text.length())).replace('\n', ' '), 1, Integer::sum);
    }
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, String> flags = new LinkedHashMap<>();
    for (int index = 0; index + 1 < arguments.length; index += 2) flags.put(arguments[index], arguments[index + 1]);
    String namespace = flags.get("--namespace");
    ApiClient client = Config.fromConfig(flags.get("--kubeconfig"));
    // An informer's watch has no time-out of its own to read.
    client.setReadTimeout(0);
    CoreV1Api api = new CoreV1Api(client);

    Work informer = new Work();
    Work writing = new Work();
    Map<String, Integer> adds = new ConcurrentHashMap<>();
    SharedInformerFactory factory = new SharedInformerFactory(client);
    SharedIndexInformer<V1ConfigMap> configMaps =
        factory.sharedIndexInformerFor(
            (CallGeneratorParams params) ->
                api.listNamespacedConfigMap(namespace)
                    .resourceVersion(params.resourceVersion)
                    .timeoutSeconds(params.timeoutSeconds)
                    .watch(params.watch)
                    .buildCall(null),
            V1ConfigMap.class,
            V1ConfigMapList.class,
            0L,
            (type, error) -> informer.failed(error));
    configMaps.addEventHandler(
        new ResourceEventHandler<V1ConfigMap>() {
          @Override
          public void onAdd(V1ConfigMap object) {
            informer.succeeded();
            if (adds.merge(object.getMetadata().getName(), 1, Integer::sum) > 1) informer.duplicates++;
          }

          @Override
          public void onUpdate(V1ConfigMap before, V1ConfigMap after) {}

          @Override
          public void onDelete(V1ConfigMap object, boolean isUnknown) {}
        });
    factory.startAllRegisteredInformers();

    CountDownLatch over = new CountDownLatch(1);
    CountDownLatch printed = new CountDownLatch(1);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  over.countDown();
                  try {
                    printed.await(SETTLE + 10_000, TimeUnit.MILLISECONDS);
                  } catch (InterruptedException ended) {
                    Thread.currentThread().interrupt();
                  }
                }));
    System.out.println("ready");

    List<String> written = new ArrayList<>();
    for (int number = 0; !over.await(PAUSE, TimeUnit.MILLISECONDS); number++) {
      String name = "java-" + number;
      try {
        V1ConfigMap object = new V1ConfigMap().metadata(new V1ObjectMeta().name(name));
        api.createNamespacedConfigMap(namespace, object).execute();
        writing.succeeded();
        written.add(name);
        api.readNamespacedConfigMap(name, namespace).execute();
        writing.succeeded();
      } catch (ApiException error) {
        writing.failed(error);
      }
    }
    long end = System.currentTimeMillis() + SETTLE;
    while (System.currentTimeMillis() < end && !adds.keySet().containsAll(written)) Thread.sleep(PAUSE);
    informer.gaps = (int) written.stream().filter((name) -> !adds.containsKey(name)).count();
    Map<String, Work> works = new LinkedHashMap<>();
    works.put("informer", informer);
    works.put("writing", writing);
    System.out.println(new Gson().toJson(works));
    System.out.flush();
    printed.countDown();
  }
}
