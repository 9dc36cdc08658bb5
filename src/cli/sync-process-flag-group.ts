import type { FlagGroup } from './serve-flags.ts';

/** The sync job as a process: its endpoints, and several of it. */
export const syncProcessFlagGroup = {
  heading: 'Process flags:',
  flags: [
    {
      name: 'bind-address',
      kind: 'value',
      placeholder: 'address',
      description: 'Where /livez, /readyz and /metrics are. (default 127.0.0.1)',
    },
    {
      name: 'health-port',
      kind: 'value',
      placeholder: 'port',
      description: 'Their port; 0 turns them off. (default 7469)',
    },
    {
      name: 'tls-cert-file',
      kind: 'value',
      placeholder: 'file',
      description: 'Serving certificate for them. Without it they are plain HTTP.',
    },
    {
      name: 'tls-private-key-file',
      kind: 'value',
      placeholder: 'file',
      description: 'Private key for --tls-cert-file.',
    },
    {
      name: 'leader-elect',
      kind: 'boolean',
      placeholder: 'true|false',
      description: 'Of several sync jobs, let one deliver; the others stand by.',
    },
    {
      name: 'leader-elect-lease-name',
      kind: 'value',
      placeholder: 'name',
      description: 'The Lease they share. (default mixed-version-proxy-sync)',
    },
    {
      name: 'leader-elect-lease-namespace',
      kind: 'value',
      placeholder: 'name',
      description: 'Its namespace. (default kube-system)',
    },
    {
      name: 'leader-elect-lease-duration',
      kind: 'value',
      placeholder: 'duration',
      description: 'How long a leader that fell silent is waited for. (default 15s)',
    },
  ],
} as const satisfies FlagGroup;
