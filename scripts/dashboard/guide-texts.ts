import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const root = join(import.meta.dirname, '..', '..');

/** The module that holds them, relative to the repository. */
export const guideTextsModule = 'src/dashboard/guide-texts.ts';

/** Pages that warnings, alerts and the status page lead to. */
export const servedGuides = [
  'docs/guides/emergency.md',
  'docs/guides/preferred-version.md',
  'docs/guides/runbooks.md',
  'docs/start/install-kubeadm.md',
] as const;

export async function guideTextsText(): Promise<string> {
  const texts = servedGuides.map(async (path) => [path, await readFile(join(root, path), 'utf8')] as const);
  const json = JSON.stringify(Object.fromEntries(await Promise.all(texts)));
  // Byte 9 of the head is the operating system (RFC 1952, section 2.3.1): the file is to be the same on each.
  const compressed = gzipSync(json, { level: 9 });
  compressed[9] = 255;
  return `// Made from pages in docs/ by \`npm run generate\`: edit them there.

/** An object of Markdown texts by path, as JSON: gzip in base64. */
const compressed =
  '${compressed.toBase64()}';

/** The guides that a router has with it, by their path in the repository. */
export async function guideTexts(): Promise<Readonly<Record<string, string>>> {
  const stream = new Blob([Uint8Array.fromBase64(compressed)]).stream();
  return JSON.parse(await new Response(stream.pipeThrough(new DecompressionStream('gzip'))).text());
}
`;
}
