import type { StatusPageSources } from '../../../src/dashboard/status-page.ts';
import { explanationText } from '../../../src/dashboard/wording/explanation-text.ts';
import type { HistoryView } from '../../../src/own-paths/history/history-view.ts';
import type { RouterStatus } from '../../../src/own-paths/status/status-schema.ts';
import type { Explanation } from '../../../src/proxy/explain.ts';
import type { ServerStatus } from '../../../src/servers/server-book.ts';
import type { SnapshotServer } from '../../../src/snapshot/format/schema.ts';
import { listedServer, statusView } from '../../support/snapshots/status-view.ts';

/** Text that an attacker would write into a field: it leaves text, attributes, comments and scripts alike. */
export function hostileText(field: string): string {
  return `${field}'"--></script></style></title><img src=x onerror="attacked=1"><script>attacked=1</script>&lt;\``;
}

const now = Date.UTC(2026, 0, 1, 12);
const noRefusal: Pick<Explanation, 'decision' | 'reason'> = { decision: 'peer', reason: 'ServedByPeer' };

/** Sources of a page, with hostile text in every field that comes from elsewhere. */
export function hostileSources(): StatusPageSources & { readonly fields: readonly string[] } {
  const fields = new Set<string>();
  const hostile = (field: string): string => {
    fields.add(field);
    return hostileText(field);
  };
  const [one, other] = ['one', 'other'].map(
    (name): SnapshotServer => ({
      id: hostile(`id-${name}`),
      address: hostile(`address-${name}`),
      version: hostile(`version-${name}`),
      hostname: hostile(`hostname-${name}`),
      serves: name,
    }),
  );
  const servers = [one, other].filter((server) => server !== undefined);
  return {
    state: async () => ({
      status: hostileStatus(servers, hostile),
      history: hostileHistory(hostile),
      now,
    }),
    explain: async (request) => {
      const explanation = hostileExplanation(hostile);
      return { request, explanation, text: explanationText(request, explanation, undefined, undefined) };
    },
    get fields() {
      hostile('url');
      return [...fields];
    },
  };
}

function hostileStatus(servers: readonly SnapshotServer[], hostile: (field: string) => string): RouterStatus {
  const health = { status: 'unreachable' as ServerStatus, reason: null, since: null };
  const view = statusView(hostile('server-id'));
  return {
    ...view,
    localServer: health,
    readiness: { ready: false, failures: [{ name: hostile('check'), reason: hostile('check-reason') }] },
    preferredVersion: {
      ...view.preferredVersion,
      configured: hostile('preferred-version'),
      minor: hostile('minor-version'),
      coming: { minor: hostile('coming-minor'), at: new Date(now).toISOString() },
      enforcementDiffers: true,
    },
    embeddedSync: { source: 'in-cluster', lastReadAt: null },
    snapshot: {
      generation: 1,
      createdAt: new Date(now).toISOString(),
      old: false,
      source: 'discovery',
      cluster: hostile('cluster'),
      extensionApis: [],
      customResourceGroups: [],
    },
    servers: servers.map(({ id, address = null, version = null, hostname = null, serves = null }) =>
      listedServer({ id, hostname, serves, address, addressSource: address, version, stale: true, health }),
    ),
    served: {
      columns: servers.map(({ id, version = null }) => ({ version, servers: [id] })),
      resources: 1,
      differing: [
        {
          group: hostile('group'),
          rows: [
            {
              version: hostile('served-version'),
              resource: hostile('differing'),
              subresource: '',
              cells: ['served', 'missing'],
            },
          ],
        },
      ],
    },
    warnings: [{ message: hostile('warning'), see: hostile('warning-page') }],
  };
}

function hostileHistory(hostile: (field: string) => string): HistoryView {
  const traffic = {
    requests: 1,
    perSecond: 1,
    refused: 1,
    failed: 1,
    perMinute: [1],
  };
  const client = (field: string) => [
    { name: hostile(field), requests: 1, lastSeen: new Date(now).toISOString() },
  ];
  return {
    since: new Date(now).toISOString(),
    secondsOfMinutes: [60],
    total: traffic,
    servers: [{ id: 'one', ...traffic }],
    versions: [{ version: hostile('requested-version'), ...traffic }],
    rerouted: {
      requests: 1,
      reasons: [{ reason: 'ServedByPeer', requests: 1 }],
    },
    timeline: [
      {
        at: new Date(now).toISOString(),
        event: 'VersionChanged',
        server: hostile('changed-server'),
        from: hostile('version-before'),
        to: hostile('version-after'),
      },
    ],
    partlyServed: [
      {
        group: hostile('used-group'),
        version: hostile('used-version'),
        resource: hostile('used-resource'),
        subresource: hostile('used-subresource'),
        vanishes: true,
        requests: 1,
        lastSeen: new Date(now).toISOString(),
        userAgents: client('user-agent'),
        otherUserAgents: 1,
        users: client('user'),
        otherUsers: 1,
      },
    ],
    otherPartlyServed: 1,
  };
}

function hostileExplanation(hostile: (field: string) => string): Explanation {
  return {
    ...noRefusal,
    requestInfo: {
      isResourceRequest: true,
      // Not shown.
      parts: [],
      path: hostile('path'),
      verb: hostile('verb'),
      apiPrefix: hostile('api-prefix'),
      apiGroup: hostile('api-group'),
      apiVersion: hostile('api-version'),
      namespace: hostile('request-namespace'),
      resource: hostile('resource'),
      subresource: hostile('subresource'),
      name: hostile('name'),
      fieldSelector: hostile('field-selector'),
      labelSelector: hostile('label-selector'),
    },
    candidates: [
      { id: hostile('candidate'), address: hostile('candidate-address'), serverName: hostile('server-name') },
    ],
    notes: [hostile('note')],
    trace: [{ rule: `7 ${hostile('rule')}`, matched: true, detail: hostile('detail') }],
  };
}
