import * as v from 'valibot';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { versionInsteadText } from '../../dashboard/wording/decision-text.ts';
import type { Explanation, RequestToExplain } from '../../proxy/explain.ts';
import { token } from '../../request/headers.ts';
import { ownPathsPrefix } from '../../request/own-path-target.ts';
import { isJsonObject } from '../../runtime/validation.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { CommandContext, ExitCode } from '../terminal/command-context.ts';
import { countOf, printable } from '../terminal/styled-text.ts';

export function explanationText(
  request: RequestToExplain,
  explanation: Explanation,
  table: RoutingTable | undefined,
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
  if (otherVersions.length > 0) {
    lines.push(row('If none is healthy', otherVersions.map(({ id }) => id).join(', ')));
  }
  if (versionInstead !== undefined) lines.push(row('Version', versionInsteadText(versionInstead)));
  for (const note of notes) lines.push(row('Note', note));
  return `${lines.map(printable).join('\n')}\n`;
}

function row(name: string, value: string): string {
  return `${`${name}:`.padEnd(21)}${value}`;
}

function describeTable(table: RoutingTable | undefined): string {
  if (table === undefined) return 'none';
  return `generation ${table.generation} with ${countOf(table.servers.length, 'server')}, of ${new Date(table.createdAt).toISOString()}`;
}

/**
 * Explains requests given as JSON lines, one JSON line each. A line that cannot be read results in
 * `{"line":…,"error":…}` and exit code 1 at the end; the lines after it are explained all the same.
 */
export async function explainLines(
  context: CommandContext,
  explain: (request: RequestToExplain) => Explanation,
): Promise<ExitCode> {
  let number = 0;
  let failed = false;
  const explainAll = async (lines: readonly string[]): Promise<void> => {
    let output = '';
    for (const text of lines) {
      number += 1;
      if (text.trim() === '') continue;
      const explanation = explainLine(number, text, explain);
      failed ||= 'error' in explanation;
      output += `${JSON.stringify(explanation)}\n`;
    }
    await context.writeOutput(output);
  };
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of context.stdin) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n');
    rest = lines.pop() ?? '';
    await explainAll(lines);
  }
  await explainAll([rest]);
  return failed ? 1 : 0;
}

type LineResult = Omit<Explanation, 'trace' | 'notes'> | { readonly line: number; readonly error: string };

function explainLine(
  line: number,
  text: string,
  explain: (request: RequestToExplain) => Explanation,
): LineResult {
  const request = v.safeParse(requestLine, text);
  if (!request.success) return { line, error: request.issues[0].message };
  const { trace: _trace, notes: _notes, ...explanation } = explain(request.output);
  return explanation;
}

/** By name, each a text or a list of texts. */
const headers = v.pipe(
  v.custom<object>(isJsonObject, '"headers" must be an object'),
  v.record(
    v.string(),
    v.union([v.string(), v.array(v.string())], 'a header must be a string or a list of strings'),
  ),
  v.transform(
    (byName): RawHeaders =>
      Object.entries(byName).flatMap(([name, value]) => [value].flat().flatMap((text) => [name, text])),
  ),
);

export const urlRule = 'must be a path that begins with /, or an https:// URL';

const requestLine = v.pipe(
  v.string(),
  v.parseJson(undefined, 'not JSON; expected {"method":"GET","url":"/api/v1/pods"}'),
  v.object(
    {
      method: v.pipe(
        v.string('"method" must be a string'),
        v.check(isMethod, '"method" cannot be an HTTP method'),
      ),
      // Any other text is a request target that clients can send, and that the router refuses: a decision as well.
      url: v.pipe(v.string('"url" must be a string'), v.nonEmpty('"url" must not be empty')),
      headers: v.nullish(headers, {}),
    },
    'expected an object with "method" and "url"',
  ),
);

/** Served by the router, whatever the API servers have under them. */
const ownDocuments = /^\/(livez|readyz|healthz)(\/|$)/;

/** Whether `text` can be the method of an HTTP request at all. */
export function isMethod(text: string): boolean {
  return token.test(text);
}

/** Whether `text` names a target at all. Which paths the router refuses is for it to say. */
export function isUrl(text: string): boolean {
  return text.startsWith('/') || (/^https?:\/\//i.test(text) && URL.canParse(text));
}

/** What a reader of a decision might overlook about the request itself. */
export function notesOnRequest(method: string, url: string): string[] {
  const notes: string[] = [];
  const usual = method.toUpperCase();
  if (method !== usual) notes.push(`${method} is not ${usual}: methods are case-sensitive`);
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/)[0] ?? '';
  if (path === ownPathsPrefix || path.startsWith(`${ownPathsPrefix}/`)) {
    notes.push(`${path} is the router's own: it serves it itself, and sends it nowhere`);
  } else if (ownDocuments.test(path)) {
    notes.push(`the router serves ${path} about itself. A server's own is asked for at that server`);
  }
  return notes;
}
