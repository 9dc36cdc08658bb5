import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { adminEndpoints } from './metrics-endpoints.ts';

const answered = ['/livez', '/readyz', '/healthz', '/metrics'];
const checks = ['/livez/ping', '/readyz/ping', '/readyz/snapshot', '/healthz/ping', '/healthz/snapshot'];

interface Given {
  readonly enabled?: boolean;
  readonly scraped?: string;
}

function app({ enabled = false, scraped = 'scraped' }: Given = {}) {
  return adminEndpoints({
    routingTable: { current: () => undefined },
    enabled,
    metrics: { scrape: async () => scraped },
  });
}

describe('the admin address', () => {
  for (const path of [...answered, ...checks]) {
    it(`answers ${path} to whoever asks`, async () => {
      const response = await app().request(`http://127.0.0.1:9443${path}`);
      assert.equal(response.status, 200);
    });
  }

  it('tells what the serving port tells: a router without a snapshot is not ready', async () => {
    const response = await app({ enabled: true }).request('http://[::1]:9443/readyz');
    assert.equal(response.status, 500);
    assert.equal((await app({ enabled: true }).request('http://localhost/livez')).status, 200);
  });

  it('compresses metrics for a monitor that takes gzip, and for no other', async () => {
    const scraped = 'mixed_version_proxy_requests_total 1\n'.repeat(1000);
    for (const path of ['/metrics']) {
      const ask = (headers: Record<string, string>) =>
        app({ scraped }).request(`http://127.0.0.1:9443${path}`, { headers });
      const compressed = await ask({ 'accept-encoding': 'gzip' });
      assert.equal(compressed.headers.get('content-encoding'), 'gzip');
      assert.equal(compressed.headers.get('vary'), 'Accept-Encoding');
      const body = new Uint8Array(await compressed.arrayBuffer());
      assert.ok(body.length < scraped.length / 10);
      assert.equal(gunzipSync(body).toString(), scraped);
      const plain = await ask({});
      assert.equal(plain.headers.get('content-encoding'), null);
      assert.equal(plain.headers.get('vary'), 'Accept-Encoding');
      assert.equal(await plain.text(), scraped);
    }
  });

  it('answers nothing else, whatever is asked', async () => {
    const segment = fc.oneof(
      fc.constantFrom('api', 'apis', 'v1', 'pods', 'metrics', 'livez', 'readyz', 'debug', 'pprof'),
      fc.constantFrom(
        '.mixed-version-proxy',
        'status',
        'snapshot',
        'explain',
        'openapi',
        '.well-known',
        '..',
      ),
      fc.webSegment(),
    );
    const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS');
    const known = new Set([...answered, ...checks]);
    await fc.assert(
      fc.asyncProperty(method, fc.array(segment, { maxLength: 4 }), async (asked, segments) => {
        const url = new URL(`http://127.0.0.1/${segments.join('/')}`);
        const isRead = asked === 'GET' || asked === 'HEAD';
        // Hono's router takes a path with a slash at its end for the same.
        if (isRead && known.has(decodeURI(url.pathname).replace(/(?<=.)\/$/, ''))) return;
        const response = await app().request(url, { method: asked });
        assert.equal(response.status, 404, `${asked} ${url.pathname}`);
      }),
      { examples: [['GET', ['readyz', '']]] },
    );
  });

  it('answers no page of another name that resolves to this host', async () => {
    for (const host of ['rebound.example', 'localhost.example', '127.0.0.1.example', 'metadata']) {
      const response = await app().request(`http://${host}/metrics`);
      assert.equal(response.status, 403, host);
    }
  });
});
