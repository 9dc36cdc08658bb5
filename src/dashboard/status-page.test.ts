import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordingTransport } from '../../test/support/routers/recording-transport.ts';
import { testApp, userConnection } from '../../test/support/routers/test-app.ts';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';

const page = 'https://router.test/.mixed-version-proxy/';
const snapshot = snapshotOf(
  {
    'cp-a': { serves: ['v1/pods'], version: 'v1.25.0' },
    'cp-b': { serves: ['v1/pods', 'batch/v1/jobs'], version: 'v1.26.0' },
  },
  { generation: 7 },
);
const connection = userConnection('admin', ['system:masters']);

async function get(url: string, init?: RequestInit): Promise<Response> {
  const { app } = await testApp({ snapshot, connection });
  return app.fetch(new Request(url, init));
}

describe('the status page', () => {
  it('is served under a policy that allows exactly its own style and script, and nothing from anywhere', async () => {
    const response = await get(page);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.equal(response.headers.get('cross-origin-resource-policy'), 'same-origin');

    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none';/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.match(policy, /base-uri 'none'/);
    assert.doesNotMatch(policy, /unsafe|\*|http|script-src 'self'|style-src 'self'/);
    const text = await response.text();
    for (const [element, directive] of [
      ['style', 'style-src'],
      ['script', 'script-src'],
    ] as const) {
      const content = new RegExp(`<${element}>(.*?)</${element}>`, 's').exec(text)?.[1] ?? '';
      assert.notEqual(content, '');
      const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(content));
      const hash = Buffer.from(digest).toString('base64');
      assert.ok(policy.includes(`${directive} 'sha256-${hash}'`), directive);
    }
    // Neither would be allowed.
    assert.doesNotMatch(text, /\sstyle="|\son[a-z]+="|\ssrc="/);
  });

  it('is reached with and without its last slash', async () => {
    const response = await get(page.slice(0, -1), { redirect: 'manual' });
    assert.equal(response.status, 308);
    assert.equal(response.headers.get('location'), '/.mixed-version-proxy/');
  });

  it('is small: less than 40 KB with everything it needs', async () => {
    const { length } = await (await get(page)).arrayBuffer().then((buffer) => new Uint8Array(buffer));
    assert.ok(length < 40_000, String(length));
  });

  it('only reads: other methods do not exist, and a HEAD has no body', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      assert.equal((await get(page, { method })).status, 404, method);
    }
    const head = await get(page, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(await head.text(), '');
  });

  it('is for allowed callers only, with all its parts', async () => {
    for (const path of ['', 'live?url=/api', 'v1/history', 'v1/status']) {
      for (const [caller, status] of [
        [{}, 403],
        [userConnection('alice', ['developers']), 403],
      ] as const) {
        const review = { kind: 'SelfSubjectAccessReview', status: { allowed: false } };
        const transport = recordingTransport(() => Response.json(review, { status: 201 }));
        const { app } = await testApp({ snapshot, connection: caller, transport });
        assert.equal((await app.fetch(new Request(page + path))).status, status, path);
      }
    }
  });

  it('leaves out of an update what the page has already', async () => {
    const known = await (await get(`${page}live?generation=7`)).text();
    assert.match(known, /<section id="differences" data-unchanged><\/section>/);
    assert.match(known, /id="servers"/);
    for (const generation of ['6', '', 'x', '07x']) {
      const text = await (await get(`${page}live?generation=${generation}`)).text();
      assert.doesNotMatch(text, /id="differences" data-unchanged/);
      assert.match(text, /jobs/);
    }
  });

  it('explains nothing for an empty form, and gives an explanation under a policy that runs nothing', async () => {
    assert.doesNotMatch(await (await get(`${page}?method=GET&url=`)).text(), /<pre>/);
    const response = await get(`${page}live?method=GET&url=/apis/batch/v1/jobs`);
    assert.match(response.headers.get('content-security-policy') ?? '', /^default-src 'none';/);
    assert.match(
      await response.text(),
      /<b>Goes to cp-b \(1\.26\): local does not serve the resource\.<\/b><\/p>\n<pre>Request: .*GET \/apis\/batch\/v1\/jobs\n/,
    );
  });

  it('shows a server that has departed as such, and no address to send to', async () => {
    const departed = snapshotOf({
      'cp-a': ['v1/pods'],
      'cp-b': { serves: ['batch/v1/jobs'], stale: true, departedAt: '2026-01-31T12:00:00Z' },
    });
    const { app } = await testApp({ snapshot: departed, connection });
    const text = await (await app.fetch(new Request(page))).text();
    assert.match(text, /Departed/);
    assert.match(text, /may come back; what only it serves is 503/);
    assert.doesNotMatch(text, /10\.0\.0\.2:6443|could not be read lately/);
    const explained = await app.fetch(new Request(`${page}?method=GET&url=/apis/batch/v1/jobs`));
    assert.match(await explained.text(), /ServerDeparted/);
  });

  it('does not take the place of other own paths', async () => {
    assert.equal((await get(`${page}nosuch`)).status, 404);
    assert.equal((await get(`${page}v1/status`)).headers.get('content-type'), 'application/json');
  });
});
