import { logFlagGroup } from './log-flag-group.ts';
import type { FlagGroup, RawOptions } from './serve-flags.ts';
import { syncProcessFlagGroup } from './sync-process-flag-group.ts';
import { syncTargetFlagGroup } from './sync-target-flag-group.ts';

/** The flags of `sync` that have a key in its configuration file, in the groups of its help. */
export const syncFlagGroups = [
  {
    heading: 'API server flags:',
    flags: [
      {
        name: 'server',
        kind: 'list',
        placeholder: 'id=https://host:port',
        description: 'An API server to read, under the ID that routers know it by. Repeatable.',
      },
      {
        name: 'kubeconfig',
        kind: 'value',
        placeholder: 'file',
        description: 'Find the API servers through the cluster that this kubeconfig names.',
      },
      {
        name: 'context',
        kind: 'value',
        placeholder: 'name',
        description: 'Context of --kubeconfig. Default: its current one.',
      },
      {
        name: 'in-cluster',
        kind: 'boolean',
        placeholder: 'true|false',
        description: 'Find them as the service account of the pod that this runs in.',
      },
      {
        name: 'peer-ca-file',
        kind: 'value',
        placeholder: 'file',
        description: "CA bundle that API servers' certificates are checked against.",
      },
      {
        name: 'client-cert-file',
        kind: 'value',
        placeholder: 'file',
        description: 'Client certificate of the sync job, for API servers and routers.',
      },
      {
        name: 'client-key-file',
        kind: 'value',
        placeholder: 'file',
        description: 'Private key for --client-cert-file.',
      },
    ],
  },
  {
    heading: 'Snapshot flags:',
    flags: [
      {
        name: 'signing-key',
        kind: 'value',
        placeholder: 'file',
        description: 'Private key that keygen made.',
      },
      {
        name: 'snapshot-keys',
        kind: 'value',
        placeholder: 'file',
        description:
          "Public keys that an earlier run, or another sync job, may have signed with. Default: the signing key's own.",
      },
      {
        name: 'state-file',
        kind: 'value',
        placeholder: 'file',
        description: 'Where the last snapshot outlives the process.',
      },
      {
        name: 'out',
        kind: 'value',
        placeholder: 'file',
        description: 'Write the snapshot to a file.',
      },
      {
        name: 'unsigned',
        kind: 'boolean',
        placeholder: 'true|false',
        description: 'Write the file as plain JSON, to look at.',
      },
      {
        name: 'interval',
        kind: 'value',
        placeholder: 'duration',
        description: 'Time between rounds. (default 1s)',
      },
      {
        name: 'lifetime',
        kind: 'value',
        placeholder: 'duration',
        description: 'How long routers may go by a snapshot that is not renewed. (default 5m)',
      },
      {
        name: 'departed-server-grace',
        kind: 'value',
        placeholder: 'duration',
        description:
          'How long what a server served stays known after it was stopped in order, as for a restart: 503 and Stale, not 404. 0s: not at all. Of servers that were found. (default 15m)',
      },
      {
        name: 'cluster',
        kind: 'value',
        placeholder: 'name',
        description: 'Name of the cluster, kept in the snapshot.',
      },
    ],
  },
  syncTargetFlagGroup,
  syncProcessFlagGroup,
  logFlagGroup('round'),
] as const satisfies readonly FlagGroup[];

export type SyncFlagName = (typeof syncFlagGroups)[number]['flags'][number]['name'];

/** What one call of `sync` does; not of its configuration file, which is the same for all of them. */
export const syncCallFlagGroup = {
  heading: 'Flags:',
  flags: [
    {
      name: 'config',
      kind: 'value',
      placeholder: 'file',
      description:
        'A SyncConfiguration, YAML or JSON, with a key for every flag below. Flags that are given win over it, one by one. Paths in it are relative to its folder.',
    },
    {
      name: 'once',
      kind: 'boolean',
      placeholder: 'true|false',
      description:
        'One round, then end: for CI and cron. Exit code 1 unless everything was read and delivered.',
    },
    {
      name: 'from',
      kind: 'value',
      placeholder: 'directory',
      description: 'Make the snapshot of recorded answers in place of running servers.',
    },
    {
      name: 'record',
      kind: 'value',
      placeholder: 'directory',
      description: 'Save what is read, for a bug report and for --from; the directory must be empty.',
    },
  ],
} as const satisfies FlagGroup;

/** What was given under each flag that has a key, as it was given, occurrence by occurrence. */
export type RawSyncOptions = RawOptions<SyncFlagName>;
