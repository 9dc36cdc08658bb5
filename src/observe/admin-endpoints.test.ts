import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { adminEndpoints } from './admin-endpoints.ts';

const answered = ['/livez', '/readyz', '/healthz', '/metrics', '/metrics/slis', '/statusz', '/flagz'];
const checks = ['/livez/ping', '/readyz/ping', '/readyz/snapshot', '/healthz/ping', '/healthz/snapshot'];

function app({ enabled = false } = {}) {
  const scrape = { contentType: 'text/plain', text: 'scraped' };
  return adminEndpoints({
    routingTable: { current: () => undefined },
    enabled,
    metrics: { scrape: async () => scrape, scrapeHealth: async () => scrape, healthChecked() {} },
    processFacts: {
      version: 'v1',
      nodeVersion: 'v26',
      startedAt: 0,
      configHash: 'sha256:abc',
      flags: { 'secure-port': '6443' },
    },
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

  it('answers nothing else, whatever is asked', async () => {
    const segment = fc.oneof(
      fc.constantFrom('api', 'apis', 'v1', 'pods', 'metrics', 'livez', 'readyz', 'statusz', 'debug', 'pprof'),
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
        if (isRead && known.has(decodeURI(url.pathname))) return;
        const response = await app().request(url, { method: asked });
        assert.equal(response.status, 404, `${asked} ${url.pathname}`);
      }),
    );
  });

  it('answers no page of another name that resolves to this host', async () => {
    for (const host of ['rebound.example', 'localhost.example', '127.0.0.1.example', 'metadata']) {
      const response = await app().request(`http://${host}/flagz`);
      assert.equal(response.status, 403, host);
    }
  });
});
