/**
 * Field numbers of the messages that kubectl sends as protobuf (its typed clients: `create namespace`,
 * `create deployment`, `auth whoami`, …), from the generated.proto files of k8s.io/api. Fields that are not
 * here are dropped.
 */

/** `[field name, type]`; the type is one of the primitives, a message, `map` of text, or a list of these. */
export type FieldDescription = readonly [name: string, type: FieldType];
export type FieldType =
  | 'text'
  | 'integer'
  | 'boolean'
  | 'text map'
  | 'bytes map'
  | 'text list'
  | { readonly message: MessageDescription; readonly list?: true };
export type MessageDescription = Readonly<Record<number, FieldDescription>>;

const objectMeta: MessageDescription = {
  1: ['name', 'text'],
  2: ['generateName', 'text'],
  3: ['namespace', 'text'],
  5: ['uid', 'text'],
  6: ['resourceVersion', 'text'],
  7: ['generation', 'integer'],
  11: ['labels', 'text map'],
  12: ['annotations', 'text map'],
  14: ['finalizers', 'text list'],
};
const metadata: FieldDescription = ['metadata', { message: objectMeta }];

const environmentVariable: MessageDescription = { 1: ['name', 'text'], 2: ['value', 'text'] };
const containerPort: MessageDescription = {
  1: ['name', 'text'],
  2: ['hostPort', 'integer'],
  3: ['containerPort', 'integer'],
  4: ['protocol', 'text'],
};
const container: MessageDescription = {
  1: ['name', 'text'],
  2: ['image', 'text'],
  3: ['command', 'text list'],
  4: ['args', 'text list'],
  6: ['ports', { message: containerPort, list: true }],
  7: ['env', { message: environmentVariable, list: true }],
};
const podSpec: MessageDescription = {
  2: ['containers', { message: container, list: true }],
  3: ['restartPolicy', 'text'],
  8: ['serviceAccountName', 'text'],
  10: ['nodeName', 'text'],
};
const podTemplate: MessageDescription = { 1: metadata, 2: ['spec', { message: podSpec }] };
const labelSelector: MessageDescription = { 1: ['matchLabels', 'text map'] };
const jobSpec: MessageDescription = {
  1: ['parallelism', 'integer'],
  2: ['completions', 'integer'],
  4: ['selector', { message: labelSelector }],
  6: ['template', { message: podTemplate }],
  7: ['backoffLimit', 'integer'],
  10: ['suspend', 'boolean'],
};
const jobTemplate: MessageDescription = { 1: metadata, 2: ['spec', { message: jobSpec }] };

const role: MessageDescription = {
  1: metadata,
  2: [
    'rules',
    {
      message: {
        1: ['verbs', 'text list'],
        2: ['apiGroups', 'text list'],
        3: ['resources', 'text list'],
        4: ['resourceNames', 'text list'],
        5: ['nonResourceURLs', 'text list'],
      },
      list: true,
    },
  ],
};
const roleBinding: MessageDescription = {
  1: metadata,
  2: [
    'subjects',
    {
      message: {
        1: ['kind', 'text'],
        2: ['apiGroup', 'text'],
        3: ['name', 'text'],
        4: ['namespace', 'text'],
      },
      list: true,
    },
  ],
  3: ['roleRef', { message: { 1: ['apiGroup', 'text'], 2: ['kind', 'text'], 3: ['name', 'text'] } }],
};
const servicePort: MessageDescription = {
  1: ['name', 'text'],
  2: ['protocol', 'text'],
  3: ['port', 'integer'],
  5: ['nodePort', 'integer'],
};
const service: MessageDescription = {
  1: metadata,
  2: [
    'spec',
    {
      message: {
        1: ['ports', { message: servicePort, list: true }],
        2: ['selector', 'text map'],
        3: ['clusterIP', 'text'],
        4: ['type', 'text'],
      },
    },
  ],
};

/** Key: `<group>/<kind>`. */
export const messages: Readonly<Record<string, MessageDescription>> = {
  '/ConfigMap': {
    1: metadata,
    2: ['data', 'text map'],
    3: ['binaryData', 'bytes map'],
    4: ['immutable', 'boolean'],
  },
  '/Namespace': { 1: metadata, 2: ['spec', { message: { 1: ['finalizers', 'text list'] } }] },
  '/Pod': { 1: metadata, 2: ['spec', { message: podSpec }] },
  '/Secret': {
    1: metadata,
    2: ['data', 'bytes map'],
    3: ['type', 'text'],
    4: ['stringData', 'text map'],
    5: ['immutable', 'boolean'],
  },
  '/Service': service,
  '/ServiceAccount': { 1: metadata, 4: ['automountServiceAccountToken', 'boolean'] },
  'apps/Deployment': {
    1: metadata,
    2: [
      'spec',
      {
        message: {
          1: ['replicas', 'integer'],
          2: ['selector', { message: labelSelector }],
          3: ['template', { message: podTemplate }],
        },
      },
    ],
  },
  'authentication.k8s.io/SelfSubjectReview': { 1: metadata },
  'authorization.k8s.io/SelfSubjectAccessReview': {
    1: metadata,
    2: [
      'spec',
      {
        message: {
          1: [
            'resourceAttributes',
            {
              message: {
                1: ['namespace', 'text'],
                2: ['verb', 'text'],
                3: ['group', 'text'],
                4: ['version', 'text'],
                5: ['resource', 'text'],
                6: ['subresource', 'text'],
                7: ['name', 'text'],
              },
            },
          ],
          2: ['nonResourceAttributes', { message: { 1: ['path', 'text'], 2: ['verb', 'text'] } }],
        },
      },
    ],
  },
  'batch/CronJob': {
    1: metadata,
    2: [
      'spec',
      {
        message: {
          1: ['schedule', 'text'],
          3: ['concurrencyPolicy', 'text'],
          4: ['suspend', 'boolean'],
          5: ['jobTemplate', { message: jobTemplate }],
        },
      },
    ],
  },
  'batch/Job': { 1: metadata, 2: ['spec', { message: jobSpec }] },
  'policy/Eviction': { 1: metadata },
  'rbac.authorization.k8s.io/ClusterRole': role,
  'rbac.authorization.k8s.io/ClusterRoleBinding': roleBinding,
  'rbac.authorization.k8s.io/Role': role,
  'rbac.authorization.k8s.io/RoleBinding': roleBinding,
};
