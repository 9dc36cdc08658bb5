import * as v from 'valibot';

/** Of the Lease that the installer of one node holds while it works, so that no two move kube-apiserver at a time. */
export const turnName = 'mixed-version-proxy-install';
export const turnCollection = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

export const turnLease = v.object({
  metadata: v.object({ resourceVersion: v.string() }),
  spec: v.object({
    holderIdentity: v.nullish(v.string(), ''),
    leaseDurationSeconds: v.nullish(v.number(), 0),
    renewTime: v.nullish(v.string(), ''),
  }),
});

/** The Lease of whoever takes its turn. */
export function takenTurn(holder: string, now: Date, durationSeconds: number, resourceVersion?: string) {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: turnName,
      namespace: 'kube-system',
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: durationSeconds,
      // MicroTime (k8s.io/apimachinery/pkg/apis/meta/v1/micro_time.go).
      renewTime: now.toISOString().replace('Z', '000Z'),
    },
  };
}

/**
 * Why it is not this node's turn; `undefined` when it is: nobody's, its own from a run that was cut off, or one that
 * has run out. Pure.
 */
export function notItsTurn(
  { spec }: v.InferOutput<typeof turnLease>,
  holder: string,
  now: Date,
): string | undefined {
  const { holderIdentity, leaseDurationSeconds, renewTime } = spec;
  const ends = Date.parse(renewTime) + leaseDurationSeconds * 1000;
  if (holderIdentity === '' || holderIdentity === holder || !(ends > now.getTime())) return undefined;
  const until = new Date(ends).toISOString().replace(/\.\d+Z$/, 'Z');
  return `the node ${holderIdentity} is being installed or undone (Lease kube-system/${turnName}, until ${until}): one node at a time. Wait for it; if that run was killed, repeat it there, or delete the Lease`;
}
