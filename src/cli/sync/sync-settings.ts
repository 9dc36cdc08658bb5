import {
  addressPolicySettings,
  clusterReading,
  configSetting,
  loggingSettings,
} from '../../node/configuration/cluster-settings.ts';
import {
  boolean,
  directory,
  file,
  httpsOrigin,
  ipAddress,
  listOf,
  section,
  setting,
  text,
  wholeNumber,
} from '../../node/configuration/setting-types.ts';

const signingKeyNeed = { oneOf: ['signing-key'], because: 'routers take nothing unsigned' };
const ofLiveCalls = { uselessWith: ['from', 'record'] };
const reading = clusterReading(true);

const syncSettings = section('Sync flags:', {
  apiServers: section('API server flags:', {
    ...reading.apiServers,
    caFile: setting('peer-ca-file', file, {
      description: "CA bundle that API servers' certificates are checked against.",
    }),
  }),
  peers: section('Address flags:', addressPolicySettings),
  client: section('Client certificate flags:', {
    certFile: setting('client-cert-file', file, {
      description: 'Client certificate of the sync job, for API servers and routers.',
    }),
    keyFile: setting('client-key-file', file, { description: 'Private key for --client-cert-file.' }),
  }),
  snapshot: section('Snapshot flags:', {
    signingKeyFile: setting('signing-key', file, {
      isCommon: true,
      description: 'Private key that keygen made.',
    }),
    keysFile: setting('snapshot-keys', file, {
      description:
        "Public keys that an earlier run, or another sync job, may have signed with. Default: the signing key's own.",
    }),
    outFile: setting('out', file, {
      uselessWith: ['record'],
      description: 'Write the snapshot to a file. A signed one is what the next start continues from.',
    }),
    unsigned: setting('unsigned', boolean, {
      needs: [{ oneOf: ['out'] }],
      uselessWith: ['record'],
      description: 'Write the file as plain JSON, to be read by people.',
    }),
    ...reading.snapshot,
  }),
  routers: section('Target flags:', {
    targets: setting('target', listOf(httpsOrigin()), {
      ...ofLiveCalls,
      isCommon: true,
      needs: [signingKeyNeed],
      description: 'A router to push to. Repeatable.',
    }),
    caFile: setting('target-ca-file', file, {
      description: "CA bundle that routers' certificates are checked against. Default: --peer-ca-file.",
    }),
    serverName: setting('target-server-name', text('name'), {
      description: "Name that routers' certificates must carry. Default: the host of --target.",
    }),
    tokenFile: setting('target-token-file', file, {
      description:
        'Bearer token for routers and Workers, read anew for each push. With it routers need no client certificate.',
    }),
    workerTargets: setting('worker-target', listOf(httpsOrigin('https://host')), {
      ...ofLiveCalls,
      needs: [signingKeyNeed],
      description:
        'A router on a Workers-compatible runtime, whose certificate is of a public authority. Repeatable.',
    }),
  }),
  endpoints: section('Process flags:', {
    bindAddress: setting('bind-address', ipAddress('address'), {
      default: '127.0.0.1',
      description: 'Where /livez, /readyz and /metrics are.',
    }),
    port: setting(
      'health-port',
      wholeNumber(0, 65_535, 'port', 'a port between 1 and 65535, or 0 for none'),
      {
        default: 7469,
        uselessWith: ['from', 'record', 'once'],
        description: 'Their port; 0 turns them off.',
      },
    ),
  }),
  logging: loggingSettings('4 adds a line for each round', 99),
});

/** Every setting of `sync`: those of one run have no key in the file. */
export const syncFlags = section('Sync flags:', {
  call: section('Call flags:', {
    config: configSetting('SyncConfiguration'),
    once: setting('once', boolean, {
      description:
        'One round, then end: for CI and cron. Exit code 1 unless everything was read and delivered.',
    }),
    from: setting('from', directory, {
      needs: [{ oneOf: ['out'], because: 'the file to write the snapshot to' }],
      call: 'works offline',
      description: 'Make the snapshot of recorded responses instead of running servers.',
    }),
    record: setting('record', directory, {
      call: 'only reads',
      uselessWith: ['from'],
      description: 'Save what is read, once, for a bug report and for --from; the directory must be empty.',
    }),
  }),
  ...syncSettings.entries,
});

export const syncConfiguration = { kind: 'SyncConfiguration', settings: syncSettings };
