import { html, raw } from 'hono/html';
import { textResponse } from '../apimachinery/content-coding.ts';
import { ownPathsPrefix } from '../request/own-path-target.ts';
import { clientStyle } from './client-assets.ts';
import { guideTexts } from './guide-texts.ts';
import { documentHeaders } from './status-page.ts';
import { markdownHtml } from './wording/markdown.ts';

/**
 * A guide that warnings, alerts and the status page lead to, under its path in the repository: as HTML for browsers, else as it is
 * written (`kubectl get --raw`). Nothing of the cluster is in it.
 * @returns `undefined` for a path that is no guide's
 */
export async function guidePage(path: string, headers: Pick<Headers, 'get'>): Promise<Response | undefined> {
  const name = path.slice(`${ownPathsPrefix}/`.length);
  const text = (await guideTexts())[name];
  if (text === undefined) return undefined;
  const acceptEncoding = headers.get('accept-encoding') ?? undefined;
  if (headers.get('accept')?.includes('text/html') !== true) {
    const plain = {
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      vary: 'accept',
    };
    return textResponse(text, plain, acceptEncoding);
  }
  const served = new Set(Object.keys(await guideTexts()));
  const hrefOf = (target: string) => (isServed(target, name, served) ? target : undefined);
  const title = /^# (.*)$/m.exec(text)?.[1] ?? name;
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Mixed Version Proxy</title>
<link rel="icon" href="data:,">
<style>${raw(clientStyle)}</style>
</head>
<body>
<main class="guide"><article class="card">${markdownHtml(text, hrefOf)}</article></main>
</body>
</html>`;
  return textResponse(
    String(document),
    { ...(await documentHeaders(clientStyle)), vary: 'accept' },
    acceptEncoding,
  );
}

/** Within the page, to another one that the router has, or elsewhere. */
function isServed(target: string, name: string, served: ReadonlySet<string>): boolean {
  if (/^(#|https:\/\/)/.test(target)) return true;
  const { pathname } = new URL(target, `https://router.invalid/${name}`);
  return served.has(pathname.slice(1));
}
