import * as v from 'valibot';

/** Of a static pod, as kubeadm finds it (cmd/kubeadm/app/util/apiclient/wait.go). */
export function mirrorPodPath(staticPod: string, node: string): string {
  return `/api/v1/namespaces/kube-system/pods/${staticPod}-${node}`;
}

const hashAnnotation = 'kubernetes.io/config.hash';
const why = v.nullish(v.looseObject({ reason: v.nullish(v.string()), message: v.nullish(v.string()) }));

/** What a kubelet tells the API of a static pod. */
export const mirrorPod = v.pipe(
  v.object({
    metadata: v.object({ name: v.string(), annotations: v.nullish(v.record(v.string(), v.string()), {}) }),
    status: v.nullish(
      v.object({
        phase: v.nullish(v.string()),
        reason: v.nullish(v.string()),
        message: v.nullish(v.string()),
        containerStatuses: v.nullish(
          v.array(
            v.object({ name: v.string(), state: v.nullish(v.object({ waiting: why, terminated: why })) }),
          ),
          [],
        ),
      }),
      {},
    ),
  }),
  v.transform(({ metadata, status }) => ({
    /** Another one as soon as the kubelet has taken up another manifest. */
    hash: metadata.annotations[hashAnnotation],
    trouble: troubleOf(metadata.name, status),
  })),
);

export type MirrorPod = v.InferOutput<typeof mirrorPod>;

interface Reason {
  readonly reason?: string | null | undefined;
  readonly message?: string | null | undefined;
}

interface PodStatus extends Reason {
  readonly phase?: string | null | undefined;
  readonly containerStatuses: readonly {
    readonly name: string;
    readonly state?:
      | { readonly waiting?: Reason | null | undefined; readonly terminated?: Reason | null | undefined }
      | null
      | undefined;
  }[];
}

/** Why it does not run: not admitted, its image is not there, its command has ended. */
function troubleOf(pod: string, status: Partial<PodStatus>): string | undefined {
  if (status.phase === 'Failed') return `the pod ${pod} is not run: ${textOf(status)}`;
  for (const { name, state } of status.containerStatuses ?? []) {
    const reason = state?.waiting ?? state?.terminated;
    if (reason) return `the container ${name} of the pod ${pod} does not run: ${textOf(reason)}`;
  }
  return undefined;
}

function textOf({ reason, message }: Reason): string {
  return [reason, message].filter((each) => typeof each === 'string' && each !== '').join(': ');
}
