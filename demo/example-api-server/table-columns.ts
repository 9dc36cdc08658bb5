import {
  arrayAt,
  isJsonObject,
  type JsonValue,
  type KubernetesObject,
  numberAt,
  objectAt,
  textAt,
} from './kubernetes-object.ts';

/** One column of a Table: its heading and what stands in it. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  /** `name` marks the column that names the object. */
  readonly format?: 'name';
  /** 1: shown with `-o wide` only. */
  readonly priority?: 1;
  readonly cell: (object: KubernetesObject, now: Date) => JsonValue;
}

const text = (name: string, cell: Column['cell']): Column => ({ name, type: 'string', cell });
const wide = (name: string, cell: Column['cell']): Column => ({ ...text(name, cell), priority: 1 });
const count = (name: string, cell: Column['cell']): Column => ({ name, type: 'integer', cell });
const field =
  (...path: readonly string[]): Column['cell'] =>
  (object) =>
    textAt(object, ...path) || '<none>';
const number =
  (...path: readonly string[]): Column['cell'] =>
  (object) =>
    numberAt(object, ...path) ?? 0;
const size =
  (...path: readonly string[]): Column['cell'] =>
  (object) =>
    Object.keys(objectAt(object, ...path)).length;
const ready: Column['cell'] = (object) =>
  `${numberAt(object, 'status', 'readyReplicas') ?? 0}/${numberAt(object, 'spec', 'replicas') ?? 0}`;

const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  cell: ({ metadata }) => metadata.name ?? '',
};
const ageColumn: Column = {
  name: 'Age',
  type: 'string',
  cell: ({ metadata }, now) => ageOf(metadata.creationTimestamp, now),
};

/** Between name and age, by `<group>/<kind>` of storage; the others have only those two. */
const columns: Readonly<Record<string, readonly Column[]>> = {
  '/ConfigMap': [count('Data', size('data'))],
  '/Event': [
    text('Type', field('type')),
    text('Reason', field('reason')),
    text(
      'Object',
      (object) =>
        `${textAt(object, 'involvedObject', 'kind').toLowerCase()}/${textAt(object, 'involvedObject', 'name')}`,
    ),
    text('Message', field('message')),
  ],
  '/Namespace': [text('Status', field('status', 'phase'))],
  '/Pod': [
    text('Ready', readyContainers),
    text('Status', field('status', 'phase')),
    count('Restarts', () => 0),
    wide('IP', field('status', 'podIP')),
    wide('Node', field('spec', 'nodeName')),
  ],
  '/Secret': [text('Type', field('type')), count('Data', size('data'))],
  '/Service': [
    text('Type', field('spec', 'type')),
    text('Cluster-IP', field('spec', 'clusterIP')),
    text('External-IP', () => '<none>'),
    text('Port(s)', servicePorts),
  ],
  'apiregistration.k8s.io/APIService': [text('Service', () => 'Local'), text('Available', () => 'True')],
  'apps/Deployment': [
    text('Ready', ready),
    count('Up-to-date', number('status', 'updatedReplicas')),
    count('Available', number('status', 'availableReplicas')),
  ],
  'apps/ReplicaSet': [
    count('Desired', number('spec', 'replicas')),
    count('Current', number('status', 'replicas')),
    count('Ready', number('status', 'readyReplicas')),
  ],
  'apps/StatefulSet': [text('Ready', ready)],
  'autoscaling/HorizontalPodAutoscaler': [
    text(
      'Reference',
      (object) =>
        `${textAt(object, 'spec', 'scaleTargetRef', 'kind')}/${textAt(object, 'spec', 'scaleTargetRef', 'name')}`,
    ),
    text('MinPods', field('spec', 'minReplicas')),
    count('MaxPods', number('spec', 'maxReplicas')),
  ],
  'batch/CronJob': [text('Schedule', field('spec', 'schedule')), text('Suspend', field('spec', 'suspend'))],
  'batch/Job': [
    text(
      'Completions',
      (object) =>
        `${numberAt(object, 'status', 'succeeded') ?? 0}/${numberAt(object, 'spec', 'completions') ?? 1}`,
    ),
  ],
  'coordination.k8s.io/Lease': [text('Holder', field('spec', 'holderIdentity'))],
};

export function columnsOf(group: string, kind: string): readonly Column[] {
  const label: Column = wide('Labels', ({ metadata }) => {
    const labels = Object.entries(metadata.labels ?? {}).map(([key, value]) => `${key}=${value}`);
    return labels.join(',') || '<none>';
  });
  const middle = columns[`${group}/${kind}`];
  return middle === undefined ? [nameColumn, ageColumn, label] : [nameColumn, ...middle, ageColumn];
}

function readyContainers(object: KubernetesObject): string {
  const statuses = arrayAt(object, 'status', 'containerStatuses').filter(isJsonObject);
  const running = statuses.filter((status) => status['ready'] === true).length;
  return `${running}/${arrayAt(object, 'spec', 'containers').length}`;
}

function servicePorts(object: KubernetesObject): string {
  const ports = arrayAt(object, 'spec', 'ports').map(
    (port) => `${textAt(port, 'port')}/${textAt(port, 'protocol') || 'TCP'}`,
  );
  return ports.join(',') || '<none>';
}

const second = 1;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** As kubectl shows ages: two units while they are small, one after that. */
function ageOf(creationTimestamp: string | undefined, now: Date): string {
  if (creationTimestamp === undefined) return '<unknown>';
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(creationTimestamp)) / 1000));
  const whole = (unit: number, above = Number.POSITIVE_INFINITY): number =>
    Math.floor((seconds % above) / unit);
  if (seconds < 2 * minute) return `${seconds}s`;
  if (seconds < 10 * minute) return `${whole(minute)}m${whole(second, minute)}s`;
  if (seconds < 3 * hour) return `${whole(minute)}m`;
  if (seconds < 8 * hour) return `${whole(hour)}h${whole(minute, hour)}m`;
  return seconds < 2 * day ? `${whole(hour)}h` : `${whole(day)}d`;
}
