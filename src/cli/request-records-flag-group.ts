import type { FlagGroup } from './serve-flags.ts';

/** What is kept of each request. Names are kube-apiserver's (k8s.io/apiserver pkg/server/options). */
export const requestRecordsFlagGroup = {
  heading: 'Tracing and audit flags:',
  flags: [
    {
      name: 'tracing-config-file',
      kind: 'value',
      placeholder: 'file',
      description:
        'A TracingConfiguration (apiserver.config.k8s.io). Its endpoint is one for OTLP over HTTP, by default http://localhost:4318. Without it nothing is traced.',
    },
    {
      name: 'audit-policy-file',
      kind: 'value',
      placeholder: 'file',
      description:
        'A Policy (audit.k8s.io/v1): which requests are audited. Needs --audit-log-path. Without it nothing is audited.',
    },
    {
      name: 'audit-log-path',
      kind: 'value',
      placeholder: 'file',
      description: 'Where audit events are written, one JSON object a line. "-": standard output.',
    },
    {
      name: 'audit-log-maxsize',
      kind: 'value',
      placeholder: 'megabytes',
      default: '100',
      description: 'The size from which on the audit log is renamed and a new one begun.',
    },
    {
      name: 'audit-log-maxage',
      kind: 'value',
      placeholder: 'days',
      default: '0',
      description: 'How long renamed audit logs are kept. 0: as long as --audit-log-maxbackup lets them.',
    },
    {
      name: 'audit-log-maxbackup',
      kind: 'value',
      placeholder: 'number',
      default: '0',
      description: 'How many renamed audit logs are kept. 0: as many as --audit-log-maxage lets them.',
    },
    {
      name: 'audit-log-batch-buffer-size',
      kind: 'value',
      placeholder: 'events',
      default: '10000',
      description: 'How many audit events may wait to be written. More are counted and lost.',
    },
  ],
} as const satisfies FlagGroup;
