import { join } from 'node:path';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '..', '..');

/** The module that holds them, relative to the repository. */
export const clientAssetsModule = 'src/dashboard/client-assets.ts';

/** The text of the module: style and script of the status page, bundled from `src/dashboard/client/`. */
export async function clientAssetsText(): Promise<string> {
  const [style, script] = await Promise.all([bundle('status-page.css'), bundle('main.ts')]);
  return `// Made from src/dashboard/client/ by \`npm run generate\`: edit it there.

/** The page's style sheet, as it stands between its tags. */
export const clientStyle =
  ${JSON.stringify(style)};

/** The page's script, as it stands between its tags. */
export const clientScript =
  ${JSON.stringify(script)};
`;
}

async function bundle(entry: string): Promise<string> {
  const result = await build({
    absWorkingDir: root,
    entryPoints: [join('src/dashboard/client', entry)],
    bundle: true,
    minify: true,
    format: 'iife',
    // Browsers of the last three years, whose operators' machines are seldom newer.
    target: ['chrome120', 'firefox121', 'safari17.4'],
    legalComments: 'none',
    charset: 'ascii',
    write: false,
    logLevel: 'silent',
  });
  const text = result.outputFiles[0]?.text.trim() ?? '';
  // Either would end its element early (HTML, section 13.1.2.6).
  if (/<\/(script|style)|<!--/i.test(text)) throw new Error(`${entry} cannot stand between its tags`);
  return text;
}
