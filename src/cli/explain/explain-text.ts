import type { Explanation, RequestToExplain } from '../../proxy/explain.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { countOf } from '../terminal/count-of.ts';

/** An explanation for people: what was asked, the rules in order, what came out. */
export function explanationText(
  request: RequestToExplain,
  explanation: Explanation,
  table: RoutingTable | undefined,
): string {
  const { requestInfo, decision, reason, message, candidates, notes, trace } = explanation;
  const lines = [row('Request', `${request.method} ${request.url}`)];
  if (requestInfo !== null) {
    for (const [name, value] of Object.entries(requestInfo)) {
      const text = Array.isArray(value) ? value.join(', ') : String(value);
      if (text !== '') lines.push(row(`  ${name}`, text));
    }
  }
  lines.push(row('Snapshot', describeTable(table)));
  if (trace.length > 0) lines.push('Rules:');
  for (const { rule, matched, detail } of trace) lines.push(`  ${matched ? '->' : '  '} ${rule}: ${detail}`);
  lines.push(row('Decision', decision), row('Reason', reason));
  if (message !== undefined) lines.push(row('Message', message));
  if (candidates.length > 0) lines.push('Candidates:');
  const idWidth = Math.max(0, ...candidates.map(({ id }) => id.length));
  for (const { id, address, serverName } of candidates) {
    lines.push(`  ${id.padEnd(idWidth)}  ${address}  as ${serverName}`);
  }
  for (const note of notes) lines.push(row('Note', note));
  return `${lines.map(printable).join('\n')}\n`;
}

function row(name: string, value: string): string {
  return `${`${name}:`.padEnd(21)}${value}`;
}

/** What came from a URL or a snapshot must not steer the terminal that shows it. */
function printable(line: string): string {
  return line.replace(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1));
}

function describeTable(table: RoutingTable | undefined): string {
  if (table === undefined) return 'none';
  const expires = new Date(table.expiresAt).toISOString();
  return `generation ${table.generation} with ${countOf(table.servers.length, 'server')}, expires ${expires}`;
}
