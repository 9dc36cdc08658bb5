import type { Explanation, RequestToExplain } from '../../proxy/explain.ts';
import { printable } from '../../runtime/printable.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { otherVersionText } from './preferred-version-text.ts';

/**
 * What `explain` prints, the status page shows, and `v1/explain` responds as text/plain. Pure.
 * @param serverId of the local server; `undefined`: a gateway's view
 */
export function explanationText(
  request: RequestToExplain,
  explanation: Explanation,
  table: Pick<RoutingTable, 'generation' | 'createdAt' | 'servers' | 'snapshot'> | undefined,
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
  const named = (id: string) => {
    const hostname = table?.snapshot.servers.find((server) => server.id === id)?.hostname ?? id;
    return hostname === id ? id : `${hostname} (${id})`;
  };
  const lines = [row('Request', `${request.method} ${request.url}`)];
  if (requestInfo !== null) {
    for (const [name, value] of Object.entries(requestInfo)) {
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
    lines.push(`  ${matched ? '->' : '  '} ${rule}: ${detail}`);
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

/** `Name:                value`, a line of such a text. */
export function row(name: string, value: string): string {
  return `${`${name}:`.padEnd(21)}${value}`;
}

function describeTable(table: Parameters<typeof explanationText>[2]): string {
  if (table === undefined) return 'none';
  const { length } = table.servers;
  return `generation ${table.generation} with ${length} server${length === 1 ? '' : 's'}, of ${new Date(table.createdAt).toISOString()}`;
}
