import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type MarkdownPage, parseMarkdownPage } from './markdown-page.ts';

/** The root of the repository. */
export const root = resolve(import.meta.dirname, '../../..');

export interface Page extends MarkdownPage {
  /** From the root of the repository. */
  readonly path: string;
}

/** Every page that is written for readers. */
export async function readPages(): Promise<readonly Page[]> {
  const paths: string[] = [];
  for await (const path of glob(
    [
      '*.md',
      'docs/**/*.md',
      'decisions/*.md',
      'deploy/**/*.md',
      'demo/README.md',
      'test/README.md',
      'test/conformance/README.md',
      'lab/**/*.md',
      'src/*.md',
      'src/edge/README.md',
      'packages/*/*.md',
    ],
    { cwd: root },
  ))
    paths.push(path);
  return paths.sort().map((path) => ({ path, ...readPage(path) }));
}

/** @param path from the root of the repository */
export function readPage(path: string): MarkdownPage {
  try {
    return parseMarkdownPage(readFileSync(join(root, path), 'utf8'));
  } catch (cause) {
    throw new Error(`${path} cannot be read as Markdown`, { cause });
  }
}
