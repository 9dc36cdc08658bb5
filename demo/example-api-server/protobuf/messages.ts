/**
 * Field numbers of the messages that kubectl sends as protobuf (its typed clients: `create namespace`,
 * `create deployment`, `auth whoami`, …), and of the Lease of leader election, from the generated.proto files of
 * k8s.io/api. Fields that are not here are dropped.
 */

/**
 * `[field name, type]`; a message without a name is embedded. The type is one of the primitives, a message, a map of text, or a list of these. Quantities,
 * metav1.MicroTime and intstr.IntOrString are messages in protobuf and one value in JSON.
 */
export type FieldDescription = readonly [name: string, type: FieldType];
export type FieldType =
  | 'text'
  | 'integer'
  | 'boolean'
  | 'quantity'
  | 'micro time'
  | 'integer or text'
  | 'text map'
  | 'bytes map'
  | 'quantity map'
  | 'text list'
  | { readonly message: MessageDescription; readonly list?: true };
export type MessageDescription = Readonly<Record<number, FieldDescription>>;

const ownerReference: MessageDescription = {
  1: ['kind', 'text'],
  3: ['name', 'text'],
  4: ['uid', 'text'],
  5: ['apiVersion', 'text'],
  6: ['controller', 'boolean'],
  7: ['blockOwnerDeletion', 'boolean'],
};
/** Without `generation`, which Go's clients send as 0: the server's own counts, where a kind has one. */
const objectMeta: MessageDescription = {
  1: ['name', 'text'],
  2: ['generateName', 'text'],
  3: ['namespace', 'text'],
  5: ['uid', 'text'],
  6: ['resourceVersion', 'text'],
  11: ['labels', 'text map'],
  12: ['annotations', 'text map'],
  13: ['ownerReferences', { message: ownerReference, list: true }],
  14: ['finalizers', 'text list'],
};
const metadata: FieldDescription = ['metadata', { message: objectMeta }];

function withSpec(spec: MessageDescription): MessageDescription {
  return { 1: metadata, 2: ['spec', { message: spec }] };
}

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
  14: ['imagePullPolicy', 'text'],
  16: ['stdin', 'boolean'],
  18: ['tty', 'boolean'],
};
const podSpec: MessageDescription = {
  2: ['containers', { message: container, list: true }],
  3: ['restartPolicy', 'text'],
  8: ['serviceAccountName', 'text'],
  10: ['nodeName', 'text'],
  27: ['shareProcessNamespace', 'boolean'],
};
const podTemplate: MessageDescription = withSpec(podSpec);
const labelSelector: MessageDescription = { 1: ['matchLabels', 'text map'] };
const jobSpec: MessageDescription = {
  1: ['parallelism', 'integer'],
  2: ['completions', 'integer'],
  4: ['selector', { message: labelSelector }],
  6: ['template', { message: podTemplate }],
  7: ['backoffLimit', 'integer'],
  10: ['suspend', 'boolean'],
};
const jobTemplate: MessageDescription = withSpec(jobSpec);

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
const service: MessageDescription = withSpec({
  1: ['ports', { message: servicePort, list: true }],
  2: ['selector', 'text map'],
  3: ['clusterIP', 'text'],
  4: ['type', 'text'],
});

const scaleTarget: FieldDescription = [
  'scaleTargetRef',
  { message: { 1: ['kind', 'text'], 2: ['name', 'text'], 3: ['apiVersion', 'text'] } },
];
/** Only resource metrics: what `kubectl autoscale` asks for. */
const metric: MessageDescription = {
  1: ['type', 'text'],
  4: [
    'resource',
    {
      message: {
        1: ['name', 'text'],
        2: [
          'target',
          {
            message: {
              1: ['type', 'text'],
              2: ['value', 'quantity'],
              3: ['averageValue', 'quantity'],
              4: ['averageUtilization', 'integer'],
            },
          },
        ],
      },
    },
  ],
};

const servicePortReference: MessageDescription = { 1: ['name', 'text'], 2: ['number', 'integer'] };
const ingressBackend: MessageDescription = {
  4: ['service', { message: { 1: ['name', 'text'], 2: ['port', { message: servicePortReference }] } }],
};
const ingressPath: MessageDescription = {
  1: ['path', 'text'],
  2: ['backend', { message: ingressBackend }],
  3: ['pathType', 'text'],
};
const ingressRule: MessageDescription = {
  1: ['host', 'text'],
  // ingressRuleValue is embedded: its fields stand beside `host` in JSON.
  2: ['', { message: { 1: ['http', { message: { 1: ['paths', { message: ingressPath, list: true }] } }] } }],
};

const selfSubjectReview: MessageDescription = { 1: metadata };

/** Key: `<apiVersion>/<kind>`. */
export const messages: Readonly<Record<string, MessageDescription>> = {
  'v1/ConfigMap': {
    1: metadata,
    2: ['data', 'text map'],
    3: ['binaryData', 'bytes map'],
    4: ['immutable', 'boolean'],
  },
  'v1/Namespace': withSpec({ 1: ['finalizers', 'text list'] }),
  'v1/Pod': withSpec(podSpec),
  'v1/ResourceQuota': withSpec({ 1: ['hard', 'quantity map'], 2: ['scopes', 'text list'] }),
  'v1/Secret': {
    1: metadata,
    2: ['data', 'bytes map'],
    3: ['type', 'text'],
    4: ['stringData', 'text map'],
    5: ['immutable', 'boolean'],
  },
  'v1/Service': service,
  'v1/ServiceAccount': { 1: metadata, 4: ['automountServiceAccountToken', 'boolean'] },
  'apps/v1/Deployment': withSpec({
    1: ['replicas', 'integer'],
    2: ['selector', { message: labelSelector }],
    3: ['template', { message: podTemplate }],
  }),
  'authentication.k8s.io/v1/SelfSubjectReview': selfSubjectReview,
  'authentication.k8s.io/v1alpha1/SelfSubjectReview': selfSubjectReview,
  'authentication.k8s.io/v1/TokenRequest': withSpec({
    1: ['audiences', 'text list'],
    4: ['expirationSeconds', 'integer'],
  }),
  'authorization.k8s.io/v1/SelfSubjectAccessReview': withSpec({
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
  }),
  'authorization.k8s.io/v1/SelfSubjectRulesReview': withSpec({ 1: ['namespace', 'text'] }),
  'autoscaling/v1/HorizontalPodAutoscaler': withSpec({
    1: scaleTarget,
    2: ['minReplicas', 'integer'],
    3: ['maxReplicas', 'integer'],
    4: ['targetCPUUtilizationPercentage', 'integer'],
  }),
  'autoscaling/v2/HorizontalPodAutoscaler': withSpec({
    1: scaleTarget,
    2: ['minReplicas', 'integer'],
    3: ['maxReplicas', 'integer'],
    4: ['metrics', { message: metric, list: true }],
  }),
  'batch/v1/CronJob': withSpec({
    1: ['schedule', 'text'],
    3: ['concurrencyPolicy', 'text'],
    4: ['suspend', 'boolean'],
    5: ['jobTemplate', { message: jobTemplate }],
  }),
  'batch/v1/Job': withSpec(jobSpec),
  'coordination.k8s.io/v1/Lease': withSpec({
    1: ['holderIdentity', 'text'],
    2: ['leaseDurationSeconds', 'integer'],
    3: ['acquireTime', 'micro time'],
    4: ['renewTime', 'micro time'],
    5: ['leaseTransitions', 'integer'],
    6: ['strategy', 'text'],
    7: ['preferredHolder', 'text'],
  }),
  'networking.k8s.io/v1/Ingress': withSpec({
    1: ['defaultBackend', { message: ingressBackend }],
    2: ['tls', { message: { 1: ['hosts', 'text list'], 2: ['secretName', 'text'] }, list: true }],
    3: ['rules', { message: ingressRule, list: true }],
    4: ['ingressClassName', 'text'],
  }),
  'policy/v1/Eviction': { 1: metadata },
  'policy/v1/PodDisruptionBudget': withSpec({
    1: ['minAvailable', 'integer or text'],
    2: ['selector', { message: labelSelector }],
    3: ['maxUnavailable', 'integer or text'],
    4: ['unhealthyPodEvictionPolicy', 'text'],
  }),
  'rbac.authorization.k8s.io/v1/ClusterRole': role,
  'rbac.authorization.k8s.io/v1/ClusterRoleBinding': roleBinding,
  'rbac.authorization.k8s.io/v1/Role': role,
  'rbac.authorization.k8s.io/v1/RoleBinding': roleBinding,
  'scheduling.k8s.io/v1/PriorityClass': {
    1: metadata,
    2: ['value', 'integer'],
    3: ['globalDefault', 'boolean'],
    4: ['description', 'text'],
    5: ['preemptionPolicy', 'text'],
  },
};
