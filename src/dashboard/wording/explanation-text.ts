import { minorVersion } from '../../apimachinery/server-version.ts';
import type { Explanation, RequestToExplain } from '../../proxy/explain.ts';
import type { DecisionReason } from '../../routing/decision.ts';
import { printable } from '../../runtime/printable.ts';
import { isDownState } from '../../servers/server-states.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { displayName, type Hostnames, withDisplayNames } from './display-names.ts';
import { otherVersionText } from './preferred-version-text.ts';

/**
 * The text that `explain` prints, the status page shows, and `v1/explain` responds as text/plain. Pure.
 * @param serverId of the local server; `undefined`: a gateway's view
 */
export function explanationText(
  request: RequestToExplain,
  explanation: Explanation,
  table: ExplainedTable | undefined,
  serverId: string | undefined,
): string {
  const {
    requestInfo,
    decision,
    reason,
    message,
    candidates,
    otherVersions = [],
    versionInstead,
    notes,
    trace,
  } = explanation;
  const hostnames: Hostnames = new Map(
    table?.snapshot.servers.flatMap(({ id, hostname }) => (hostname === undefined ? [] : [[id, hostname]])),
  );
  const named = (id: string) => {
    const hostname = displayName(id, hostnames);
    return hostname === id ? id : `${hostname} (${id})`;
  };
  const lines = [
    answer(explanation, table, serverId, hostnames),
    '',
    row('Request', `${request.method} ${request.url}`),
  ];
  if (requestInfo !== null) {
    const { isResourceRequest: _isResourceRequest, parts: _parts, ...shown } = requestInfo;
    for (const [name, value] of Object.entries(shown)) {
      const text = Array.isArray(value) ? value.join(', ') : String(value);
      if (text !== '') lines.push(row(`  ${name}`, text));
    }
  }
  lines.push(
    row('Seen from', serverId === undefined ? 'a gateway, to which no server is local' : named(serverId)),
    row('Snapshot', describeTable(table)),
  );
  if (trace.length > 0) lines.push('Rules:');
  for (const { rule, matched, detail } of trace) {
    lines.push(
      `  ${matched ? '->' : '  '} ${rule} ${matched ? 'Yes' : 'No'}: ${withDisplayNames(detail, hostnames)}`,
    );
  }
  lines.push(row('Decision', decision), row('Reason', reason));
  if (message !== undefined) lines.push(row('Message', message));
  if (candidates.length > 0) lines.push('Candidates:');
  const width = Math.max(0, ...candidates.map(({ id }) => named(id).length));
  for (const { id, address, serverName, health } of candidates) {
    const state = health === undefined ? '' : `, ${health}`;
    lines.push(`  ${named(id).padEnd(width)}  ${address}  as ${serverName}${state}`);
  }
  if (otherVersions.length > 0) {
    lines.push(row('If none is healthy', otherVersions.map(({ id }) => named(id)).join(', ')));
  }
  if (versionInstead !== undefined) {
    const { preferred, responding } = versionInstead;
    lines.push(row('Version', `${preferred} is preferred, but ${otherVersionText(responding)}`));
  }
  for (const note of notes) lines.push(row('Note', note));
  return `${lines.map(printable).join('\n')}\n`;
}

type ExplainedTable = Pick<RoutingTable, 'generation' | 'createdAt' | 'servers' | 'snapshot'>;

/** Why, behind the server's name. `{local}`: the local server. `{version}`: that of the candidates. */
const whyText: Readonly<Partial<Record<string, string>>> = {
  NotAResourceRequest: 'the request names no resource',
  MergedDocument: 'its document is merged with those of the other servers',
  AlreadyRerouted: 'another router has sent it here',
  NoSnapshot: 'there is no snapshot yet',
  ServedLocally: 'it serves the resource',
  ExtensionAPIServer: 'its aggregator hands the request to an extension API server',
  CustomResource: 'every server serves custom resources',
  ServedByPeer: '{local} does not serve the resource',
  PeerAddressUnknown: 'no server that serves it has a usable address',
  ServerDeparted: 'the last server that serves it has left',
  ServerNotKnown: 'no other server serves it, and a server that was lost has not been read since',
  NotServedByAnyServer: 'no server serves the resource, and the response is its 404',
  LocalServerDown: '{local} is down',
  PreferredVersion: '{version} answers for all while versions differ',
  FeatureGateDisabled: 'the feature gate is off',
} satisfies Record<DecisionReason, string>;

/** Why a request goes where it goes, without names of servers. */
export function reasonText(reason: string, local = 'the local server', version = 'one version'): string {
  return (whyText[reason] ?? reason).replace('{local}', local).replace('{version}', version);
}

/** The answer in one sentence: who gets the request, and why. */
function answer(
  { decision, reason, message, candidates, otherVersions = [], versionInstead }: Explanation,
  table: ExplainedTable | undefined,
  serverId: string | undefined,
  hostnames: Hostnames,
): string {
  const named = (id: string) => displayName(id, hostnames);
  if (decision === 'refused') return `Is refused: ${message ?? reason}.`;
  const local = serverId === undefined ? 'the server of a gateway' : named(serverId);
  const minorOf = (id: string | undefined) =>
    minorVersion(table?.servers.find((server) => server.id === id)?.version);
  const why = reasonText(reason, local, minorOf(candidates[0]?.id));
  if (decision === 'unavailable') return `Gets 503: ${why}.`;
  const mayRespond = [...candidates, ...otherVersions].filter(({ health = '' }) => !isDownState(health));
  if (decision === 'peer' && mayRespond.length === 0) return 'Gets 503: no server that serves it is healthy.';
  const withVersion = (id: string) => {
    const minor = minorOf(id);
    return minor === undefined ? named(id) : `${named(id)} (${minor})`;
  };
  const localIds = serverId === undefined ? [] : [serverId];
  const instead = versionInstead && `no server of ${versionInstead.preferred} is healthy`;
  const responding = mayRespond.filter(
    ({ id }) => versionInstead === undefined || (minorOf(id) ?? 'unknown') === versionInstead.responding,
  );
  const ofFirst = candidates.filter((candidate) => responding.includes(candidate));
  const asked = ofFirst.length > 0 ? ofFirst : responding;
  const ids = decision === 'local' ? localIds : asked.map(({ id }) => id);
  const where = ids.length === 0 ? 'any server' : ids.map(withVersion).join(' or ');
  return `Goes to ${where}: ${instead ?? why}.`;
}

/** `Name:                value`, a line of such a text. */
export function row(name: string, value: string): string {
  return `${`${name}:`.padEnd(21)}${value}`;
}

function describeTable(table: Parameters<typeof explanationText>[2]): string {
  if (table === undefined) return 'none';
  const { length } = table.servers;
  return `generation ${table.generation} with ${length} server${length === 1 ? '' : 's'}, of ${new Date(table.createdAt).toISOString()}`;
}
