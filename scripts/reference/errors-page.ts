import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type CodeUnion, codeUnions } from './code-catalogue.ts';
import { membersOfUnion } from './code-union.ts';

const root = resolve(import.meta.dirname, '../..');

/**
 * docs/reference/errors.md, from the unions in the source and their comments. @throws {Error} for a code nothing is
 * said of.
 */
export function errorsPage(): string {
  return `${[...introduction, ...codeUnions.flatMap(section), ...exitCodes].join('\n').trimEnd()}\n`;
}

const introduction = [
  '# Errors',
  '',
  '<!-- Written by `npm run generate` from the sources that each section names. Change those, not this page. -->',
  '',
  'Every code that logs, responses and commands use. Codes are stable; messages may change. By symptom: [troubleshooting](../guides/troubleshooting.md).',
  '',
];

const exitCodes = [
  '## Exit codes',
  '',
  '| code | of `mixed-version-proxy` |',
  '|---|---|',
  '| 0 | done |',
  '| 1 | failed while running |',
  '| 2 | usage or configuration error: a line for each on standard error, and nothing was done |',
  '| 130, 143 | ended at once by a second SIGINT or SIGTERM |',
  '',
  '`doctor` exits with 1 after a warning and with 2 when something does not work ([inspecting](../guides/inspecting.md)).',
  '',
];

function section({ heading, source, name, introduction: text, descriptions = {} }: CodeUnion): string[] {
  const rows = membersOfUnion(readFileSync(resolve(root, source), 'utf8'), name).map(({ code, comment }) => {
    const description = comment || descriptions[code];
    if (description === undefined) throw new Error(`${source}: nothing is said of ${name} ${code}`);
    return `| \`${code}\` | ${description.replaceAll('|', '\\|')} |`;
  });
  return [
    `## ${heading}`,
    '',
    `\`${name}\`, in \`${source}\`. ${text}`,
    '',
    '| code | meaning |',
    '|---|---|',
    ...rows,
    '',
  ];
}
