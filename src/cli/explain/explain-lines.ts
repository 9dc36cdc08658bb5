import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { Explanation, RequestToExplain } from '../../proxy/explain.ts';
import { type CommandContext, type ExitCode, messageOf } from '../terminal/command-context.ts';
import { readLines } from '../terminal/line-reader.ts';
import { isMethod } from './explain-notes.ts';

/**
 * Explains requests given as JSON lines, one JSON line each. A line that cannot be read results in
 * `{"line":…,"error":…}` and exit code 1 at the end; the lines after it are explained all the same.
 */
export async function explainLines(
  context: CommandContext,
  explain: (request: RequestToExplain) => Explanation,
): Promise<ExitCode> {
  let failed = false;
  for await (const lines of readLines(context.stdin)) {
    let output = '';
    for (const line of lines) {
      if ('text' in line && line.text.trim() === '') continue;
      const explanation = explainLine(line, explain);
      failed ||= 'error' in explanation;
      output += `${JSON.stringify(explanation)}\n`;
    }
    await context.writeOutput(output);
  }
  return failed ? 1 : 0;
}

type LineAnswer = Omit<Explanation, 'trace' | 'notes'> | { readonly line: number; readonly error: string };

function explainLine(
  line: { number: number; text: string } | { number: number; problem: string },
  explain: (request: RequestToExplain) => Explanation,
): LineAnswer {
  if ('problem' in line) return { line: line.number, error: line.problem };
  try {
    const { trace: _trace, notes: _notes, ...explanation } = explain(parseRequest(line.text));
    return explanation;
  } catch (error) {
    return { line: line.number, error: messageOf(error) };
  }
}

/** @throws {TypeError} saying what the line should have been. */
function parseRequest(text: string): RequestToExplain {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new TypeError('not JSON; expected {"method":"GET","url":"/api/v1/pods"}');
  }
  if (!isRecord(value)) throw new TypeError('expected an object with "method" and "url"');
  const { method, url, headers } = value;
  if (typeof method !== 'string' || method === '') throw new TypeError('"method" must be a non-empty string');
  if (!isMethod(method)) throw new TypeError('"method" cannot be an HTTP method');
  if (typeof url !== 'string' || url === '') throw new TypeError('"url" must be a non-empty string');
  return { method, url, headers: parseHeaders(headers) };
}

function parseHeaders(headers: unknown): RawHeaders {
  if (headers === undefined || headers === null) return [];
  if (!isRecord(headers)) throw new TypeError('"headers" must be an object');
  const lines: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    for (const entry of Array.isArray(value) ? value : [value]) {
      if (typeof entry !== 'string') {
        throw new TypeError(`header ${JSON.stringify(name)} must be a string or a list of strings`);
      }
      lines.push(name, entry);
    }
  }
  return lines;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
