import type { ApiServerBinary } from '../cluster/assets.ts';

/** A field of a resource that every version of the suite serves, and that older ones do not know. */
export interface NewField {
  /** Minor version from which on a server has it. */
  readonly since: number;
  /** `CSIDriver.spec.preventPodSchedulingIfMissing`: for what is printed. */
  readonly name: string;
  /** Flags of a server that has it, where it is not on by itself. */
  readonly flags: readonly string[];
  /** The path of the collection. */
  path(namespace: string): string;
  /** An object with it, written out so that every version has the same defaults to add: none. */
  object(name: string): object;
  /** True if an object, as a server sends it, has the field. */
  isShown(text: string): boolean;
}

const csiDriver: NewField = {
  since: 36,
  name: 'CSIDriver.spec.preventPodSchedulingIfMissing',
  flags: ['--feature-gates=VolumeLimitScaling=true'],
  path: () => '/apis/storage.k8s.io/v1/csidrivers',
  object: (name) => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name },
    spec: {
      attachRequired: false,
      podInfoOnMount: false,
      storageCapacity: false,
      requiresRepublish: false,
      seLinuxMount: false,
      fsGroupPolicy: 'File',
      volumeLifecycleModes: ['Persistent'],
      preventPodSchedulingIfMissing: true,
    },
  }),
  isShown: (text) => text.includes('"preventPodSchedulingIfMissing":true'),
};

/** On by itself from 1.35 on. */
const autoscaler: NewField = {
  since: 35,
  name: 'HorizontalPodAutoscaler.spec.behavior.scaleUp.tolerance',
  flags: [],
  path: (namespace) => `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`,
  object: (name) => ({
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      minReplicas: 1,
      maxReplicas: 3,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
        },
      ],
      behavior: { scaleUp: { tolerance: '50m' } },
    },
  }),
  isShown: (text) => text.includes('"tolerance":"50m"'),
};

const alphaAutoscaler: NewField = {
  ...autoscaler,
  since: 33,
  flags: ['--feature-gates=HPAConfigurableTolerance=true'],
};

/** By a feature gate alone: servers of one version, of which some were started with it. */
const gatedDriver: NewField = { ...csiDriver, since: 36.5, flags: [] };
const gate = '--feature-gates=VolumeLimitScaling=true';

/** A field that tells these versions apart; `undefined` where none is known that does. */
export function newFieldOf(all: readonly Pick<ApiServerBinary, 'minor' | 'flags'>[]): NewField | undefined {
  const minors = all.map(({ minor }) => minor);
  const byGate = all.some(({ flags }) => flags?.includes(gate) === true) ? [gatedDriver] : [];
  return [autoscaler, csiDriver, ...byGate, alphaAutoscaler].find(
    ({ since }) => Math.max(...minors) >= since && Math.min(...minors) < since,
  );
}
