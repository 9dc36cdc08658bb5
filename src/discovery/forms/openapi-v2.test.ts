import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { localId } from '../../../test/support/decision-rows.ts';
import { recordingTransport } from '../../../test/support/recording-transport.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { testApp, userConnection } from '../../../test/support/test-app.ts';
import type { MergedOpenApiV2 } from '../openapi-v2/merged-openapi-v2.ts';
import { EncodedDocument } from './encoded-document.ts';

const snapshot = snapshotOf({ [localId]: ['v1/pods'], peer: ['v1/pods', 'batch/v1/jobs'] });
const documents = {
  json: new EncodedDocument(new TextEncoder().encode('{"swagger":"2.0","merged":true}')),
  protobuf: new EncodedDocument(new TextEncoder().encode('merged protobuf')),
};
const ready: Pick<MergedOpenApiV2, 'document' | 'problems'> = {
  document: (form) => Promise.resolve(documents[form]),
  problems: () => [{ path: '/openapi/v2', server: 'peer', problem: 'It did not come in time.' }],
};
const protobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

interface Asked {
  readonly accept?: string;
  readonly method?: string;
  readonly ifNoneMatch?: string;
  /** What the local server answers. */
  readonly localStatus?: number;
  readonly openApiV2?: typeof ready | undefined;
  readonly path?: string;
}

async function ask({
  accept,
  method = 'GET',
  ifNoneMatch,
  localStatus = 200,
  path = '/openapi/v2',
  ...rest
}: Asked) {
  const { openApiV2 } = { openApiV2: ready, ...rest };
  const { app, transport } = await testApp({
    snapshot,
    openApiV2,
    connection: userConnection('admin', ['system:masters']),
    transport: recordingTransport(() => new Response('local', { status: localStatus })),
  });
  const headers = new Headers();
  if (accept !== undefined) headers.set('accept', accept);
  if (ifNoneMatch !== undefined) headers.set('if-none-match', ifNoneMatch);
  const response = await app.fetch(new Request(`https://router${path}`, { method, headers }));
  return { response, text: await response.text(), sent: transport.sent };
}

describe('/openapi/v2', () => {
  test('is the merged document, in the form that is asked for', async () => {
    for (const accept of [undefined, '*/*', 'application/json', `application/json, ${protobuf};q=0.5`]) {
      const { response, text } = await ask(accept === undefined ? {} : { accept });
      assert.match(text, /merged/);
      assert.equal(response.headers.get('content-type'), 'application/json');
    }
    for (const accept of [protobuf, 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf']) {
      const { response, text } = await ask({ accept });
      assert.equal(text, 'merged protobuf');
      assert.equal(response.headers.get('content-type'), protobuf);
    }
  });

  test('has an ETag, 304, HEAD and Vary', async () => {
    const { response } = await ask({});
    const etag = response.headers.get('etag') ?? '';
    assert.match(etag, /^"[0-9A-F]{128}"$/);
    assert.match(response.headers.get('vary') ?? '', /Accept/);
    assert.equal((await ask({ ifNoneMatch: `W/"x", W/${etag}` })).response.status, 304);
    const head = await ask({ method: 'HEAD' });
    assert.deepEqual([head.response.status, head.text], [200, '']);
  });

  test('is given to nobody whom the local server does not let read it', async () => {
    for (const localStatus of [401, 403, 429, 500, 503]) {
      const { response, text, sent } = await ask({ localStatus });
      assert.deepEqual([response.status, text, sent.length], [localStatus, 'local', 1]);
    }
  });

  test('is the local server’s own while there is no merged one, and in a form that does not exist', async () => {
    const none = { ...ready, document: () => Promise.resolve(undefined) };
    for (const asked of [
      { openApiV2: none },
      { openApiV2: undefined },
      { accept: 'text/html' },
      { method: 'POST' },
    ]) {
      assert.equal((await ask(asked)).text, 'local');
    }
    assert.equal((await ask({ path: '/openapi/v2/' })).text, 'local');
  });

  test('names in the status what is missing in it', async () => {
    const { response, text } = await ask({ path: '/.mixed-version-proxy/v1/status' });
    assert.equal(response.status, 200, text);
    const { documents: named } = JSON.parse(text);
    assert.ok(
      named.some(
        ({ path, server }: { path: string; server: string }) => path === '/openapi/v2' && server === 'peer',
      ),
    );
  });
});
