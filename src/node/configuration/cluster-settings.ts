import {
  boolean,
  choice,
  cidrs,
  duration,
  file,
  listedServers,
  section,
  setting,
  shortName,
  text,
  wholeNumber,
} from './setting-types.ts';

// Settings that the router and the sync job have in common: an entry each, so that it means the same to both.

/** How the cluster is read. Flags of the sync job are useless in a call that reads no cluster. */
export const clusterReading = (ofSyncJob: boolean) => {
  const about = ofSyncJob ? { uselessWith: ['from'] } : {};
  const gate = ofSyncJob ? {} : ({ needsFeatureGate: true } as const);
  const needs = ofSyncJob
    ? {}
    : {
        needs: [{ oneOf: ['kubeconfig', 'in-cluster'], because: 'it says how the router reads the cluster' }],
      };
  return {
    apiServers: {
      kubeconfig: setting('kubeconfig', file, {
        ...about,
        ...gate,
        isCredential: true,
        isCommon: true,
        description: 'Read the cluster of this kubeconfig, and find its API servers there.',
      }),
      context: setting('context', text('name'), {
        ...about,
        needs: [{ oneOf: ['kubeconfig'] }],
        description: 'Context of --kubeconfig. Default: its current one.',
      }),
      inCluster: setting('in-cluster', boolean, {
        ...about,
        ...gate,
        description: 'The same, as the service account of the pod that this runs in.',
      }),
      servers: setting('server', listedServers, {
        ...needs,
        description: 'An API server to read, under the ID that routers know it by. Repeatable.',
      }),
    },
    snapshot: {
      departedServerGrace: setting(
        'departed-server-grace',
        duration('0s', undefined, 'a duration such as 15m, or 0s for none'),
        {
          ...(ofSyncJob && { uselessWith: ['from', 'record'] }),
          ...needs,
          default: '15m',
          description:
            'How long a server that was stopped in order stays known: its resources get 503 and are Stale in discovery, not 404. 0s: not at all. Only for servers that were found, not listed.',
        },
      ),
      cluster: setting('cluster', shortName, {
        description: ofSyncJob
          ? 'Name of the cluster, kept in the snapshot.'
          : 'Name of the cluster, kept in the snapshot. A pushed snapshot of another name is refused; without this flag, one of another name than the first had.',
      }),
    },
  };
};

/** Where servers may be that are found in the cluster, or named by a snapshot. */
export const addressPolicySettings = {
  allowedCIDRs: setting('allowed-peer-cidrs', cidrs, {
    description:
      'Accept peers only at addresses in these blocks. Default: any but loopback, link-local and metadata addresses.',
  }),
  allowLoopback: setting('allow-loopback-peers', boolean, {
    default: false,
    description: 'Accept peers at loopback addresses. For demos and tests on one machine.',
  }),
};

/** How much is logged, and in which form. @param levels what they add */
export const loggingSettings = (levels: string, highest: number) =>
  section('Log flags:', {
    verbosity: setting('v', wholeNumber(0, highest, 'level'), {
      short: 'v',
      default: 0,
      description: `Verbosity: ${levels}.`,
    }),
    format: setting('logging-format', choice('text', 'json'), {
      default: 'text',
      description: 'Form of the log lines.',
    }),
  });

export const configSetting = (kind: string) =>
  setting('config', file, {
    isCommon: true,
    description: `A ${kind}, YAML or JSON, with a key for every flag below. A flag that is given wins over its key. Paths in the file are relative to its folder.`,
  });
