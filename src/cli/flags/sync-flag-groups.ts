import type { ConfigurableFlagGroup, FlagGroup, FlagNeed, RawOptions } from './flag.ts';
import { boolean, directory, file, ipAddress, list, text, wholeNumber } from './flag-types.ts';
import type { FlagValues } from './flag-values.ts';
import { clusterReadingFlags, logFlagGroup } from './shared-flag-groups.ts';

const signingKeyNeed = {
  oneOf: ['signing-key'],
  because: 'routers take nothing unsigned',
} as const satisfies FlagNeed;

/** Where snapshots go. */
const syncTargetFlagGroup = {
  heading: 'Target flags:',
  flags: [
    {
      name: 'target',
      key: 'routers.targets',
      value: list('https://host:port'),
      needs: [signingKeyNeed],
      uselessWith: ['from', 'record'],
      description: 'A router to push to. Repeatable.',
    },
    {
      name: 'target-ca-file',
      key: 'routers.caFile',
      value: file,
      description: "CA bundle that routers' certificates are checked against. Default: --peer-ca-file.",
    },
    {
      name: 'target-server-name',
      key: 'routers.serverName',
      value: text('name'),
      description: "Name that routers' certificates must carry. Default: the host of --target.",
    },
    {
      name: 'target-token-file',
      key: 'routers.tokenFile',
      value: file,
      description:
        'Bearer token for routers and Workers, read anew for each push. With it routers need no client certificate.',
    },
    {
      name: 'worker-target',
      key: 'routers.workerTargets',
      value: list('https://host'),
      needs: [signingKeyNeed],
      uselessWith: ['from', 'record'],
      description:
        'A router on a Workers-compatible runtime, whose certificate is of a public authority. Repeatable.',
    },
  ],
} as const satisfies FlagGroup;

/** The endpoints of the process. */
const syncProcessFlagGroup = {
  heading: 'Process flags:',
  flags: [
    {
      name: 'bind-address',
      key: 'endpoints.bindAddress',
      value: ipAddress('address'),
      default: '127.0.0.1',
      description: 'Where /livez, /readyz and /metrics are.',
    },
    {
      name: 'health-port',
      key: 'endpoints.port',
      value: wholeNumber(0, 65_535, 'port', 'a port between 1 and 65535, or 0 for none'),
      default: '7469',
      uselessWith: ['from', 'record', 'once'],
      description: 'Their port; 0 turns them off.',
    },
  ],
} as const satisfies FlagGroup;

/** The flags of `sync` that have a key in its configuration file, in the groups of its help. */
export const syncFlagGroups = [
  {
    heading: 'API server flags:',
    flags: [
      clusterReadingFlags.server,
      { ...clusterReadingFlags.kubeconfig, uselessWith: ['from', 'record'] },
      { ...clusterReadingFlags.context, uselessWith: ['from', 'record'] },
      { ...clusterReadingFlags.inCluster, uselessWith: ['from', 'record'] },
      {
        name: 'peer-ca-file',
        key: 'apiServers.caFile',
        value: file,
        description: "CA bundle that API servers' certificates are checked against.",
      },
      {
        name: 'client-cert-file',
        key: 'client.certFile',
        value: file,
        description: 'Client certificate of the sync job, for API servers and routers.',
      },
      {
        name: 'client-key-file',
        key: 'client.keyFile',
        value: file,
        description: 'Private key for --client-cert-file.',
      },
    ],
  },
  {
    heading: 'Snapshot flags:',
    flags: [
      {
        name: 'signing-key',
        key: 'snapshot.signingKeyFile',
        value: file,
        description: 'Private key that keygen made.',
      },
      {
        name: 'snapshot-keys',
        key: 'snapshot.keysFile',
        value: file,
        description:
          "Public keys that an earlier run, or another sync job, may have signed with. Default: the signing key's own.",
      },
      {
        name: 'state-file',
        key: 'snapshot.stateFile',
        value: file,
        uselessWith: ['from', 'record'],
        description: 'Where the last snapshot is kept across restarts.',
      },
      {
        name: 'out',
        key: 'snapshot.outFile',
        value: file,
        uselessWith: ['record'],
        description: 'Write the snapshot to a file.',
      },
      {
        name: 'unsigned',
        key: 'snapshot.unsigned',
        value: boolean,
        needs: [{ oneOf: ['out'] }],
        uselessWith: ['record'],
        description: 'Write the file as plain JSON, to be read by people.',
      },
      { ...clusterReadingFlags.departedServerGrace, uselessWith: ['from', 'record'] },
      clusterReadingFlags.cluster,
    ],
  },
  syncTargetFlagGroup,
  syncProcessFlagGroup,
  logFlagGroup('round', wholeNumber(0, 99, 'level')),
] as const satisfies readonly ConfigurableFlagGroup[];

export type SyncFlagName = (typeof syncFlagGroups)[number]['flags'][number]['name'];

/** Flags of one run of `sync`, without a key in the configuration file. */
export const syncCallFlagGroup = {
  heading: 'Flags:',
  flags: [
    {
      name: 'config',
      value: file,
      description:
        'A SyncConfiguration, YAML or JSON, with a key for every flag below. A flag that is given wins over its key. Paths in the file are relative to its folder.',
    },
    {
      name: 'once',
      value: boolean,
      description:
        'One round, then end: for CI and cron. Exit code 1 unless everything was read and delivered.',
    },
    {
      name: 'from',
      value: directory,
      needs: [{ oneOf: ['out'], because: 'the file to write the snapshot to' }],
      call: 'works offline',
      description: 'Make the snapshot of recorded responses instead of running servers.',
    },
    {
      name: 'record',
      value: directory,
      call: 'only reads the servers that are listed',
      uselessWith: ['from'],
      description: 'Save what is read, for a bug report and for --from; the directory must be empty.',
    },
  ],
} as const satisfies FlagGroup;

type SyncFlag =
  | (typeof syncFlagGroups)[number]['flags'][number]
  | (typeof syncCallFlagGroup)['flags'][number];

/** Every flag of `sync`. */
export const syncFlags: readonly SyncFlag[] = [
  ...syncFlagGroups.flatMap(({ flags }) => [...flags]),
  ...syncCallFlagGroup.flags,
];

/** What `sync` was called with, as it was given, occurrence by occurrence. */
export type SyncArguments = RawOptions<SyncFlag['name']>;

/** What they come to in one call. */
export type SyncFlagValues = FlagValues<SyncFlag>;
