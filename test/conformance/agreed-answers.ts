import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const path = join(import.meta.dirname, 'agreed-answers.json');

/**
 * Answers that have to be the same on every runtime, by name: entity tags, documents, words of refusals. Written by
 * `npm run lab -- conformance --write`, so that runtimes which run one by one are compared all the same.
 */
export function readAgreedAnswers(): Map<string, string> {
  return new Map(Object.entries(JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>));
}

export function writeAgreedAnswers(answers: ReadonlyMap<string, string>): void {
  const sorted = [...answers].sort(([left], [right]) => (left < right ? -1 : 1));
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
}

/** A document in short. */
export function digestOf(document: string): string {
  return createHash('sha256').update(document, 'latin1').digest('base64url');
}
