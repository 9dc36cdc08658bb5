import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLogger } from '../../test/support/recording-logger.ts';
import { recordingTransport } from '../../test/support/routers/recording-transport.ts';
import { allHeaders } from '../apimachinery/raw-headers.ts';
import { type Destination, TransportError, type TransportErrorCode } from '../request/destination.ts';
import { defaultIdentityHeaderNames } from '../request/headers.ts';
import type { ServerWord } from '../servers/server-word.ts';
import { ServerProbe } from './probe.ts';

/** Aggregated discovery with one group, of which v1 is served. */
function aggregated(group: string, resources: readonly string[]): string {
  const discovered = resources.map((resource) => ({
    resource,
    responseKind: { group, version: 'v1', kind: 'Thing' },
    scope: 'Namespaced',
    verbs: ['get'],
  }));
  const items = [{ metadata: { name: group }, versions: [{ version: 'v1', resources: discovered }] }];
  return JSON.stringify({ kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', items });
}

const destination = (kind: 'local' | 'peer'): Destination => ({
  kind,
  id: 'a',
  origin: 'https://a.example:6443',
  serverName: 'kubernetes.default.svc',
  trust: { kind: 'peer-ca' },
});

/** @param isAsSaid of a server that was lost */
function probing(
  answer: (target: string) => Response | Promise<Response>,
  isAsSaid?: (word: ServerWord) => boolean,
) {
  const transport = recordingTransport((outbound) => answer(outbound.target));
  const { logger, lines } = recordingLogger();
  const probe = new ServerProbe({
    transport,
    identityHeaderNames: defaultIdentityHeaderNames,
    pseudonym: 'router-under-test',
    timeout: 5_000,
    isToBeVerified: () => isAsSaid !== undefined,
    isAsSaid: (_id, word) => isAsSaid?.(word) ?? assert.fail('not to be verified'),
    logger,
  });
  const ask = (kind: 'local' | 'peer' = 'peer') =>
    probe.probe(destination(kind), new AbortController().signal);
  const isThere = () => probe.responds(destination('peer'), new AbortController().signal);
  return { ask, isThere, sent: transport.sent, lines };
}

test('a probe asks for /readyz as the router itself, over the connections that carry requests', async () => {
  const { ask, sent } = probing(() => new Response('ok'));
  assert.equal(await ask(), 'ready');
  const [outbound] = sent;
  assert.equal(outbound?.method, 'GET');
  assert.equal(outbound?.target, '/readyz');
  assert.equal(outbound?.presentFrontProxyCertificate, true);
  assert.deepEqual(allHeaders(outbound?.headers ?? [], 'x-remote-user'), ['system:mixed-version-proxy']);
});

test('a server that may be another process is asked what it is and serves, too', async () => {
  const responses = (target: string) => {
    if (target === '/version') return new Response('{"gitVersion":"v1.30.9-eks-1"}');
    if (target === '/apis') return new Response(aggregated('batch', ['jobs']));
    if (target === '/openapi/v3')
      return new Response(
        '{"paths":{"apis/batch/v1":{"serverRelativeURL":"/openapi/v3/apis/batch/v1?hash=A1"}}}',
      );
    return new Response(target === '/api' ? aggregated('', []) : 'ok');
  };
  for (const [isAsSaid, outcome] of [
    [true, 'ready'],
    [false, 'changed'],
  ] as const) {
    const words: ServerWord[] = [];
    const { ask, sent } = probing(responses, (word) => {
      words.push(word);
      return isAsSaid;
    });
    assert.equal(await ask(), outcome);
    assert.deepEqual(
      sent.map(({ target }) => target),
      ['/readyz', '/version', '/api', '/apis', '/openapi/v3'],
    );
    assert.equal(words[0]?.version, 'v1.30.9-eks-1');
    assert.deepEqual(words[0]?.served?.storageVersions, { 'batch.jobs': ['v1'] });
    assert.deepEqual(words[0]?.openApi, { 'apis/batch/v1': '/openapi/v3/apis/batch/v1?hash=A1' });
  }
});

test('what a server that may be another process does not say is left out', async () => {
  for (const text of ['{"gitVersion":2}', '{}', 'ok', '[']) {
    const words: ServerWord[] = [];
    await probing(
      () => new Response(text),
      (word) => words.push(word) > 0,
    ).ask();
    assert.deepEqual(words, [{ version: undefined, served: undefined }]);
  }
  const notReady = probing(
    () => new Response(null, { status: 500 }),
    () => assert.fail('it is not asked before it is ready'),
  );
  assert.equal(await notReady.ask(), 'not-ready');
});

test('servers that are verified at the same time are read some after the others, each by its own word', async () => {
  const groups = Array.from({ length: 30 }, (_, index) => ['apps', 'batch', 'policy'][index % 3] ?? '');
  let begun = 0;
  let reading = 0;
  let most = 0;
  const words: ServerWord[] = [];
  const { ask } = probing(
    async (target) => {
      if (target === '/api') return new Response(aggregated('', []));
      if (target !== '/apis') return new Response('ok');
      const group = groups[begun++] ?? '';
      most = Math.max(most, ++reading);
      await new Promise((resolve) => setImmediate(resolve));
      reading--;
      return new Response(aggregated(group, ['things']));
    },
    (word) => words.push(word) > 0,
  );
  const outcomes = await Promise.all(groups.map(() => ask()));
  assert.deepEqual(new Set(outcomes), new Set(['ready']));
  assert.equal(most, 8);
  const served = words.flatMap((word) => Object.keys(word.served?.storageVersions ?? {}));
  assert.deepEqual(served.sort(), groups.map((group) => `${group}.things`).sort());
});

test('a peer is asked for its local server alone, by the reroute mark', async () => {
  const { ask, sent } = probing(() => new Response('ok'));
  await ask('peer');
  await ask('local');
  assert.deepEqual(
    sent.map(({ headers }) => allHeaders(headers, 'x-kubernetes-peer-proxied')),
    [['true'], []],
  );
});

test('only a 5xx says that a server is not to be used; refusing the question is a sign of life', async () => {
  const outcomes = [200, 401, 403, 404, 429, 500, 503, 504].map(async (status) => [
    status,
    await probing(() => new Response('no', { status })).ask(),
  ]);
  assert.deepEqual(await Promise.all(outcomes), [
    [200, 'ready'],
    [401, 'alive'],
    [403, 'refusing'],
    [404, 'alive'],
    [429, 'alive'],
    [500, 'not-ready'],
    [503, 'not-ready'],
    [504, 'not-ready'],
  ]);
});

test('a server that refuses /readyz alone is alive: one that does not know its roles yet refuses /api as well', async () => {
  const { ask, sent } = probing((target) => new Response('no', { status: target === '/api' ? 200 : 403 }));
  assert.equal(await ask(), 'alive');
  assert.deepEqual(
    sent.map(({ target }) => target),
    ['/readyz', '/api'],
  );
});

test('a response is read to its end, so that its connection is kept, but not without end', async () => {
  let pulled = 0;
  let cancelled = false;
  const endless = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(1_024));
      },
      cancel() {
        cancelled = true;
      },
    });
  assert.equal(await probing(() => new Response(endless())).ask(), 'ready');
  assert.ok(cancelled && pulled < 100, `${pulled} chunks were read`);

  const short = new Response('ok');
  await probing(() => short).ask();
  assert.equal(short.bodyUsed, true);
});

test('a response that breaks off behind its head counts by its head', async () => {
  const broken = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) });
  assert.equal(await probing(() => new Response(broken, { status: 500 })).ask(), 'not-ready');
});

test('a server that does not respond is unreachable, and the log says why, once for the same reason', async () => {
  const { ask, lines } = probing(() => {
    throw new TransportError('ConnectFailed', 'connection refused', { mayHaveBeenProcessed: false });
  });
  for (let time = 0; time < 3; time++) assert.equal(await ask(), 'refused');
  assert.deepEqual(lines, [
    {
      level: 'warn',
      fields: { destination: 'a', kind: 'peer', code: 'ConnectFailed', error: 'connection refused' },
      message: 'A health check could not reach a server',
    },
  ]);
});

test('a server is there that responds to one of two questions: etcd may hang, or a webhook that authorizes', async () => {
  const never = new Promise<Response>(() => {});
  for (const status of [200, 403, 500]) {
    for (const answered of ['/version', '/readyz']) {
      const { isThere } = probing((target) => (target === answered ? new Response('', { status }) : never));
      assert.equal(await isThere(), true);
    }
  }
  const { isThere, lines } = probing(() => {
    throw new TransportError('ConnectionClosed', 'gone', { mayHaveBeenProcessed: true });
  });
  assert.equal(await isThere(), false);
  assert.deepEqual(lines, [], 'its probes tell');
});

test('a probe that takes too long says so, and names no client', async () => {
  const { ask, lines } = probing(() => {
    throw new TransportError('ClientGone', 'the client went away', { mayHaveBeenProcessed: false });
  });
  assert.equal(await ask(), 'unreachable', 'it may have waited behind others');
  const { code, error } = lines[0]?.fields ?? {};
  assert.deepEqual([code, error], ['Timeout', 'https://a.example:6443: no response within 5000 ms']);
});

test('whether a probe found a connection is told apart from a response that did not come', async () => {
  const foundNone = async (code: TransportErrorCode, mayHaveBeenProcessed: boolean) => {
    const { ask } = probing(() => {
      throw new TransportError(code, 'no response', { mayHaveBeenProcessed });
    });
    return ask();
  };
  assert.equal(await foundNone('ConnectFailed', false), 'refused');
  assert.equal(await foundNone('TLSFailed', false), 'not-connected');
  assert.equal(await foundNone('Timeout', false), 'not-connected', 'while it dialled');
  assert.equal(await foundNone('TLSFailed', true), 'unreachable');
  assert.equal(await foundNone('Timeout', true), 'unreachable', 'one slow response is no proof');
  assert.equal(await foundNone('ConnectionClosed', true), 'unreachable');
});

test('an error of the router itself is logged and not held against the server', async () => {
  const { ask, lines } = probing(() => {
    throw new TypeError('an error');
  });
  assert.equal(await ask(), 'alive');
  assert.equal(lines[0]?.level, 'error');
});
