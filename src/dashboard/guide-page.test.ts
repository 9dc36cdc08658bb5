import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { testApp, userConnection } from '../../test/support/routers/test-app.ts';
import { markdownHtml } from './wording/markdown.ts';

const emergency = 'docs/guides/emergency.md';

async function get(path: string, accept: string, connection = {}): Promise<Response> {
  const { app } = await testApp({ connection });
  return app.fetch(new Request(`https://router.test/.mixed-version-proxy/${path}`, { headers: { accept } }));
}

describe('the guides that a router has with it', () => {
  it('are there for everybody, without a snapshot, as they are written in the repository', async () => {
    const response = await get(emergency, 'application/json, */*');
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8');
    const written = await readFile(new URL(`../../${emergency}`, import.meta.url), 'utf8');
    assert.equal(await response.text(), written);
  });

  it('are pages for a browser, under a policy that allows nothing but their style', async () => {
    const response = await get(emergency, 'text/html,*/*;q=0.8');
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:/);
    assert.doesNotMatch(policy, /script-src|connect-src/);
    const text = await response.text();
    assert.doesNotMatch(text, /<script/);
    assert.match(text, /<h2 id="take-the-router-off">Take the router off<\/h2>/);
    assert.match(text, /<a href="#take-the-router-off">take the router off<\/a>/);
    // To a page that comes with it, and to one that does not.
    assert.match(text, /<a href="\.\.\/start\/install-kubeadm\.md">/);
    assert.match(text, /what is in it \(<code>sync\.md#recording-for-a-bug-report<\/code>\)/);
  });

  it('have the place that every warning, alert and notice leads to', async () => {
    const sources = [
      '../own-paths/status/router-status.ts',
      './summary-section.ts',
      './page-document.ts',
      '../../deploy/helm/mixed-version-proxy/files/alerts.yaml',
    ];
    const targets = new Set<string>();
    for (const source of sources) {
      const text = await readFile(new URL(source, import.meta.url), 'utf8');
      for (const [target] of text.replaceAll(/^#.*$/gm, '').matchAll(/docs\/[\w/-]+\.md(#[\w-]+)?/g)) {
        targets.add(target);
      }
    }
    assert.ok(targets.size > 5);
    for (const target of targets) {
      const [path = '', place] = target.split('#');
      const response = await get(path, 'text/html');
      assert.equal(response.status, 200, target);
      // `…#mixedversionproxy` is the beginning of a name.
      if (place !== undefined) assert.ok((await response.text()).includes(` id="${place}`), target);
    }
  });

  it('are not for other paths: those are asked about as all of the router’s own', async () => {
    assert.equal((await get('docs/guides/nowhere.md', '*/*')).status, 503);
    const admin = userConnection('admin', ['system:masters']);
    assert.equal((await get('docs/guides/nowhere.md', '*/*', admin)).status, 404);
    assert.equal((await get('docs/guides/__proto__', '*/*', admin)).status, 404);
  });
});

describe('Markdown as HTML', () => {
  const render = (text: string) => String(markdownHtml(text, (target) => target));

  it('lets nothing of a text become markup', () => {
    const text =
      '# <b>\n\n<script> `<i>` **<u>** [<a>](x"y)\n\n| <b> |\n|---|\n| `a \\| b` |\n\n```html\n<p>\n```\n';
    assert.equal(
      render(text).replaceAll('\n', ''),
      '<h1 id="b">&lt;b&gt;</h1><p>&lt;script&gt; <code>&lt;i&gt;</code> <strong>&lt;u&gt;</strong> <a href="x&quot;y">&lt;a&gt;</a></p><div class="scroll" tabindex="0"><table><thead><tr><th>&lt;b&gt;</th></tr></thead><tbody><tr><td><code>a | b</code></td></tr></tbody></table></div><pre tabindex="0">&lt;p&gt;</pre>',
    );
  });

  it('keeps lists, also one within another, and numbers', () => {
    assert.equal(
      render('1. one\n2. two\n   - within\n\n- a **b**\n- c\n').replaceAll('\n', ''),
      '<ol><li>one</li><li>two<ul><li>within</li></ul></li></ol><ul><li>a <strong>b</strong></li><li>c</li></ul>',
    );
  });
});
