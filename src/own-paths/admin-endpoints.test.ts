import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { receiverWith, renewalOf, sealed } from '../../test/support/snapshot-receiver.ts';
import { gunzip } from '../apimachinery/content-coding.ts';
import type { SnapshotReceiver } from '../snapshot/receiving/receiver.ts';
import { generateSigningKey } from '../snapshot/signing/signing-key.ts';
import { adminEndpoints } from './admin-endpoints.ts';

const answered = ['/livez', '/readyz', '/healthz', '/metrics', '/metrics/slis', '/statusz', '/flagz'];
const checks = ['/livez/ping', '/readyz/ping', '/readyz/snapshot', '/healthz/ping', '/healthz/snapshot'];

interface Given {
  readonly enabled?: boolean;
  readonly snapshots?: SnapshotReceiver;
  readonly scraped?: string;
}

function app({ enabled = false, snapshots, scraped = 'scraped' }: Given = {}) {
  const scrape = { contentType: 'text/plain', text: scraped };
  return adminEndpoints({
    snapshots,
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

  it('compresses metrics for a monitor that takes gzip, and for no other', async () => {
    const scraped = 'mixed_version_proxy_requests_total 1\n'.repeat(1000);
    for (const path of ['/metrics', '/metrics/slis']) {
      const ask = (headers: Record<string, string>) =>
        app({ scraped }).request(`http://127.0.0.1:9443${path}`, { headers });
      const compressed = await ask({ 'accept-encoding': 'gzip' });
      assert.equal(compressed.headers.get('content-encoding'), 'gzip');
      assert.equal(compressed.headers.get('vary'), 'Accept, Accept-Encoding');
      const body = new Uint8Array(await compressed.arrayBuffer());
      assert.ok(body.length < scraped.length / 10);
      assert.equal(new TextDecoder().decode(await gunzip(body)), scraped);
      const plain = await ask({});
      assert.equal(plain.headers.get('content-encoding'), null);
      assert.equal(plain.headers.get('vary'), 'Accept, Accept-Encoding');
      assert.equal(await plain.text(), scraped);
    }
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

describe('a snapshot at the admin address', () => {
  const url = 'http://127.0.0.1:9443/.mixed-version-proxy/v1/snapshot';
  const put = (body: string | ReadableStream): RequestInit =>
    ({ method: 'PUT', body, duplex: 'half' }) as RequestInit;

  it('is taken for its signature, and renewed', async () => {
    const { receiver, clock } = receiverWith();
    const admin = app({ snapshots: receiver });
    const jws = await sealed(1);
    assert.equal((await admin.request(url, put(jws))).status, 200);
    assert.equal(receiver.current()?.generation, 1);
    const { createdAt = 0 } = receiver.current() ?? {};
    clock.now += 60_000;
    assert.equal((await admin.request(`${url}/renewal`, put(await renewalOf(jws, 1)))).status, 200);
    assert.ok((receiver.current()?.createdAt ?? 0) > createdAt);
  });

  it('attack: of a key that is not pinned, or an older one, is refused, and the router keeps what it has', async () => {
    const { receiver } = receiverWith();
    const admin = app({ snapshots: receiver });
    const older = await sealed(1);
    await admin.request(url, put(await sealed(2)));
    const stranger = await generateSigningKey('ES256');
    for (const body of [await sealed(3, ['v1/pods'], {}, stranger), older, 'no JWS', '']) {
      const { status } = await admin.request(url, put(body));
      assert.ok(status >= 400 && status < 500, String(status));
    }
    assert.equal(receiver.current()?.generation, 2);
  });

  it('is not shown: who asks learns which one is held', async () => {
    const { receiver } = receiverWith();
    const admin = app({ snapshots: receiver });
    assert.equal((await admin.request(url, { method: 'HEAD' })).status, 404);
    await admin.request(url, put(await sealed(1)));
    const head = await admin.request(url, { method: 'HEAD' });
    assert.match(head.headers.get('etag') ?? '', /^"sha256:[0-9a-f]{64}\.\d+"$/);
    assert.equal(await head.text(), '');
    assert.equal((await admin.request(url)).status, 404);
  });

  it('attack: pushes side by side do not fill the memory: one is taken at a time', async () => {
    const { receiver } = receiverWith();
    const admin = app({ snapshots: receiver });
    const body = new TransformStream<Uint8Array, Uint8Array>();
    const slow = admin.request(url, put(body.readable));
    assert.equal((await admin.request(url, put(await sealed(1)))).status, 429);
    await body.writable.close();
    await slow;
    assert.equal((await admin.request(url, put(await sealed(1)))).status, 200);
  });

  it('is not taken from a page of another name that resolves to this host', async () => {
    const { receiver } = receiverWith();
    const rebound = url.replace('127.0.0.1', 'rebound.example');
    assert.equal((await app({ snapshots: receiver }).request(rebound, put(await sealed(1)))).status, 403);
    assert.equal(receiver.current(), undefined);
  });
});
