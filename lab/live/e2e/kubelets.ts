import { setTimeout as sleep } from 'node:timers/promises';
import {
  CoreV1Api,
  type KubeConfig,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1Pod,
} from '@kubernetes/client-node';

/** Stands in for kubelets and a scheduler: there are nodes, and what is put on them runs, though nothing does. */
export interface Kubelets {
  stop(): Promise<void>;
}

const nodeNames = ['node-1', 'node-2'];
const ended: ReadonlySet<string> = new Set(['Succeeded', 'Failed']);
/** Milliseconds. */
const requestPatience = 10_000;

/** Makes the nodes, then binds each pod, says that it runs, and lets it go when it is deleted. */
export async function startKubelets(config: KubeConfig): Promise<Kubelets> {
  const api = config.makeApiClient(CoreV1Api);
  for (const name of nodeNames) await makeNode(api, name);
  let turn = 0;
  let isStopped = false;
  const busy = new Set<string>();

  /** An obstacle (a conflict, an API server that goes) ends the attempt: the next look at all pods tries again. */
  async function attend(pod: V1Pod): Promise<void> {
    const { uid = '' } = pod.metadata ?? {};
    if (isStopped || busy.has(uid)) return;
    busy.add(uid);
    // A request that gets no answer must not keep the pod waiting for ever.
    await Promise.race([act(pod).catch(() => {}), sleep(requestPatience, undefined, { ref: false })]);
    busy.delete(uid);
  }

  async function act(pod: V1Pod): Promise<void> {
    const { name = '', namespace = '', uid = '', finalizers = [] } = pod.metadata ?? {};
    const patchStatus = (status: object) =>
      api.patchNamespacedPodStatus(
        { name, namespace, body: { status } },
        setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch),
      );
    if (pod.metadata?.deletionTimestamp !== undefined) {
      const isHeld = finalizers.length > 0;
      if (isHeld && pod.spec?.nodeName === undefined) return;
      // As kubelets do: a Job lets go of a pod only once it has ended (KEP-3329).
      if (isHeld && !ended.has(pod.status?.phase ?? '')) await patchStatus({ phase: 'Failed' });
      // All in the body: with one, an API server ignores the query.
      await api.deleteNamespacedPod({
        name,
        namespace,
        body: { gracePeriodSeconds: 0, preconditions: { uid } },
      });
    } else if (pod.spec?.nodeName === undefined) {
      if ((pod.spec?.schedulingGates ?? []).length > 0) return;
      const node = wantedNode(pod) ?? nodeNames[turn++ % nodeNames.length] ?? '';
      await api.createNamespacedPodBinding({
        name,
        namespace,
        body: { metadata: { name, uid }, target: { kind: 'Node', name: node } },
      });
    } else if (pod.status?.phase === 'Pending') await patchStatus(runningStatus(pod, ++turn));
  }

  const informer = makeInformer(config, '/api/v1/pods', () => api.listPodForAllNamespaces());
  for (const event of ['add', 'update'] as const) informer.on(event, (pod) => void attend(pod));
  informer.on('error', () => {
    if (!isStopped) setTimeout(() => void informer.start().catch(() => {}), 500);
  });
  await informer.start();
  // Listed anew, so that a pod whose event was missed is found too.
  const again = setInterval(() => {
    void api.listPodForAllNamespaces().then(
      ({ items }) => {
        for (const pod of items) {
          const isPending = pod.status?.phase === 'Pending' || pod.metadata?.deletionTimestamp !== undefined;
          if (isPending) void attend(pod);
        }
      },
      () => {},
    );
  }, 2_000);
  return {
    async stop() {
      isStopped = true;
      clearInterval(again);
      await informer.stop();
    },
  };
}

async function makeNode(api: CoreV1Api, name: string): Promise<void> {
  const resources = { cpu: '16', memory: '64Gi', pods: '500', 'ephemeral-storage': '100Gi' };
  await api.createNode({
    body: {
      metadata: {
        name,
        labels: {
          'kubernetes.io/hostname': name,
          'kubernetes.io/os': 'linux',
          'kubernetes.io/arch': 'amd64',
        },
      },
    },
  });
  await api.patchNodeStatus(
    {
      name,
      body: {
        status: {
          capacity: resources,
          allocatable: resources,
          conditions: [
            {
              type: 'Ready',
              status: 'True',
              reason: 'KubeletReady',
              lastTransitionTime: new Date().toISOString(),
              lastHeartbeatTime: new Date().toISOString(),
            },
          ],
          addresses: [
            { type: 'InternalIP', address: '10.88.1.1' },
            { type: 'Hostname', address: name },
          ],
        },
      },
    },
    setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch),
  );
  // Admission taints a node that is made as not ready; the controller that would take it off is left out.
  await api.patchNode(
    { name, body: { spec: { taints: null } } },
    setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
  );
}

/** The node that a pod of a DaemonSet is for. */
function wantedNode(pod: V1Pod): string | undefined {
  const terms =
    pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return terms.flatMap(({ matchFields = [] }) => matchFields).find(({ key }) => key === 'metadata.name')
    ?.values?.[0];
}

/** As a kubelet reports it once every container has started; a container of a Job is done by then. */
function runningStatus(pod: V1Pod, turn: number): object {
  const now = new Date().toISOString();
  const isDone = (pod.metadata?.ownerReferences ?? []).some(({ kind }) => kind === 'Job');
  const done = { terminated: { exitCode: 0, reason: 'Completed', startedAt: now, finishedAt: now } };
  const statusOf = ({ name, image = '' }: { name: string; image?: string }, isInit: boolean) => ({
    name,
    image,
    imageID: image,
    restartCount: 0,
    ready: !isDone || isInit,
    started: !isDone && !isInit,
    state: isDone || isInit ? done : { running: { startedAt: now } },
  });
  const podIP = `10.89.${(turn >> 8) % 256}.${turn % 256}`;
  return {
    phase: isDone ? 'Succeeded' : 'Running',
    hostIP: '10.88.1.1',
    hostIPs: [{ ip: '10.88.1.1' }],
    podIP,
    podIPs: [{ ip: podIP }],
    startTime: now,
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      type,
      status: isDone && type.endsWith('Ready') ? 'False' : 'True',
      lastTransitionTime: now,
    })),
    initContainerStatuses: (pod.spec?.initContainers ?? []).map((container) => statusOf(container, true)),
    containerStatuses: (pod.spec?.containers ?? []).map((container) => statusOf(container, false)),
  };
}
