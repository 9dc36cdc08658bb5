import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type KubernetesObject,
  objectAt,
  textAt,
} from './kubernetes-object.ts';

type Default = (object: KubernetesObject, now: string) => KubernetesObject;

/**
 * Fields that a new object has although its maker did not say them, by kind; as little as makes clients show it well.
 */
const defaults: Readonly<Record<string, Default>> = {
  Namespace: (object) => ({
    ...object,
    metadata: {
      ...object.metadata,
      labels: { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name ?? '' },
    },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }),
  Pod: runningPod,
  Deployment: withReplicas,
  ReplicaSet: withReplicas,
  StatefulSet: withReplicas,
  ReplicationController: withReplicas,
  Job: (object) => withSpec(object, { parallelism: 1, completions: 1, backoffLimit: 6 }),
  CronJob: (object) => withSpec(object, { concurrencyPolicy: 'Allow', suspend: false }),
  Service: (object) => withSpec(object, { type: 'ClusterIP', sessionAffinity: 'None' }),
  Secret: (object) => ({ type: 'Opaque', ...object }),
};

export function withDefaults(kind: string, object: KubernetesObject, now: string): KubernetesObject {
  return defaults[kind]?.(object, now) ?? object;
}

function withSpec(object: KubernetesObject, spec: JsonObject): KubernetesObject {
  return { ...object, spec: { ...spec, ...objectAt(object, 'spec') } };
}

function withReplicas(object: KubernetesObject): KubernetesObject {
  return withSpec(object, { replicas: 1 });
}

/** There is no scheduler and no kubelet: a pod runs at once, on a node that is only a name. */
function runningPod(object: KubernetesObject, now: string): KubernetesObject {
  const condition = (type: string): JsonObject => ({ type, status: 'True', lastTransitionTime: now });
  return {
    // `kubectl debug` panics without a security context.
    ...withSpec(object, { nodeName: 'example-node', restartPolicy: 'Always', securityContext: {} }),
    status: {
      phase: 'Running',
      conditions: [condition('PodScheduled'), condition('Initialized'), condition('Ready')],
      hostIP: '127.0.0.1',
      podIP: '127.0.0.1',
      podIPs: [{ ip: '127.0.0.1' }],
      startTime: now,
      containerStatuses: runningContainers(arrayAt(object, 'spec', 'containers'), now),
    },
  };
}

/** Ephemeral containers run at once, too: `kubectl debug -i` waits for that. */
export function withEphemeralContainersRunning(pod: KubernetesObject, now: string): KubernetesObject {
  const ephemeralContainerStatuses = runningContainers(arrayAt(pod, 'spec', 'ephemeralContainers'), now);
  return { ...pod, status: { ...objectAt(pod, 'status'), ephemeralContainerStatuses } };
}

function runningContainers(containers: readonly JsonValue[], now: string): JsonObject[] {
  return containers.filter(isJsonObject).map((container) => ({
    name: textAt(container, 'name'),
    image: textAt(container, 'image'),
    imageID: '',
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: { startedAt: now } },
  }));
}
