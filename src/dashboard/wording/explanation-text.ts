import type { Explanation, RequestToExplain } from '../../proxy/explain.ts';
import { printable } from '../../runtime/printable.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { versionInsteadText } from './decision-text.ts';

/**
 * What `explain` prints, and `v1/explain` responds as text/plain. Pure.
 * @param serverId of the local server; `undefined`: a gateway's view
 */
export function explanationText(
  request: RequestToExplain,
  explanation: Explanation,
  table: Pick<RoutingTable, 'generation' | 'createdAt' | 'servers'> | undefined,
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
  const lines = [row('Request', `${request.method} ${request.url}`)];
  if (requestInfo !== null) {
    for (const [name, value] of Object.entries(requestInfo)) {
      const text = Array.isArray(value) ? value.join(', ') : String(value);
      if (text !== '') lines.push(row(`  ${name}`, text));
    }
  }
  lines.push(
    row('Seen from', serverId ?? 'a gateway, to which no server is local'),
    row('Snapshot', describeTable(table)),
  );
  if (trace.length > 0) lines.push('Rules:');
  for (const { rule, matched, detail } of trace) lines.push(`  ${matched ? '->' : '  '} ${rule}: ${detail}`);
  lines.push(row('Decision', decision), row('Reason', reason));
  if (message !== undefined) lines.push(row('Message', message));
  if (candidates.length > 0) lines.push('Candidates:');
  const idWidth = Math.max(0, ...candidates.map(({ id }) => id.length));
  for (const { id, address, serverName } of candidates) {
    lines.push(`  ${id.padEnd(idWidth)}  ${address}  as ${serverName}`);
  }
  if (otherVersions.length > 0) {
    lines.push(row('If none is healthy', otherVersions.map(({ id }) => id).join(', ')));
  }
  if (versionInstead !== undefined) lines.push(row('Version', versionInsteadText(versionInstead)));
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
