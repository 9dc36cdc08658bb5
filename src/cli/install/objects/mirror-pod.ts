import * as v from 'valibot';

/** Of a static pod, as kubeadm finds it (cmd/kubeadm/app/util/apiclient/wait.go). */
export function mirrorPodPath(staticPod: string, node: string): string {
  return `/api/v1/namespaces/kube-system/pods/${staticPod}-${node}`;
}

const hashAnnotation = 'kubernetes.io/config.hash';
const reason = v.object({ reason: v.nullish(v.string()), message: v.nullish(v.string()) });
const podStatus = v.object({
  ...reason.entries,
  phase: v.nullish(v.string()),
  containerStatuses: v.nullish(
    v.array(
      v.object({
        name: v.string(),
        state: v.nullish(v.object({ waiting: v.nullish(reason), terminated: v.nullish(reason) })),
      }),
    ),
    [],
  ),
});

/** What a kubelet tells the API of a static pod. */
export const mirrorPod = v.pipe(
  v.object({
    metadata: v.object({ name: v.string(), annotations: v.nullish(v.record(v.string(), v.string()), {}) }),
    status: v.nullish(podStatus, {}),
  }),
  v.transform(({ metadata, status }) => ({
    /** Another one as soon as the kubelet has taken up another manifest. */
    hash: metadata.annotations[hashAnnotation],
    trouble: troubleOf(metadata.name, status),
  })),
);

export type MirrorPod = v.InferOutput<typeof mirrorPod>;

/** Why it does not run: not admitted, its image is not there, its command has ended. */
function troubleOf(pod: string, status: v.InferOutput<typeof podStatus>): string | undefined {
  if (status.phase === 'Failed') return `the pod ${pod} is not run: ${textOf(status)}`;
  for (const { name, state } of status.containerStatuses) {
    const why = state?.waiting ?? state?.terminated;
    if (why) return `the container ${name} of the pod ${pod} does not run: ${textOf(why)}`;
  }
  return undefined;
}

function textOf({ reason, message }: Pick<v.InferOutput<typeof podStatus>, 'reason' | 'message'>): string {
  return [reason, message].filter((each) => typeof each === 'string' && each !== '').join(': ');
}
