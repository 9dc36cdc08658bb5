import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { type OpenApiV2Content, openApiV2Bytes } from '../../../test/support/openapi-v2.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { silentLogger } from '../../observe/logger.ts';
import { buildRoutingTable } from '../../snapshot/build-routing-table.ts';
import { MergedOpenApiV2, openApiV2Codecs } from './merged-openapi-v2.ts';
import { type ServerDocument, ServerDocumentError, type ServerDocumentRequest } from './server-document.ts';

const both = { v1: 'v1 of both' };
const contents: Record<string, OpenApiV2Content> = {
  older: {
    version: 'v1.25.0',
    paths: ['/api/v1', '/old'],
    definitions: { ...both, Old: 'old', Same: 'older' },
  },
  newer: {
    version: 'v1.26.0',
    paths: ['/api/v1', '/new'],
    definitions: { ...both, New: 'new', Same: 'newer' },
  },
};
const servers = {
  older: { version: 'v1.25.0', serves: ['v1/pods', 'old/v1/things'] },
  newer: { version: 'v1.26.0', serves: ['v1/pods', 'new/v1/things'] },
};
const table = buildRoutingTable(snapshotOf(servers));

type Answer = (request: ServerDocumentRequest) => ServerDocument | Promise<ServerDocument>;

/** As kube-apiserver answers. */
const document =
  (content: OpenApiV2Content, etag = '"1"'): Answer =>
  ({ accept, ifNoneMatch }) => {
    const form = accept === 'application/json' ? 'json' : 'protobuf';
    const head = { contentType: accept, etag };
    return ifNoneMatch === etag
      ? { ...head, status: 304, body: new Uint8Array() }
      : { ...head, status: 200, body: openApiV2Bytes(form, content) };
  };

function underTest() {
  const answers = new Map<string, Answer>(
    Object.entries(contents).map(([id, content]) => [id, document(content)]),
  );
  const asked: ServerDocumentRequest[] = [];
  const clock = { now: 0 };
  const merged = new MergedOpenApiV2({
    async read(request) {
      asked.push(request);
      const answer = answers.get(request.server.id);
      if (answer === undefined) throw new ServerDocumentError('The server gave no answer: ConnectFailed.');
      return answer(request);
    },
    clock: () => clock.now,
    logger: silentLogger,
  });
  const json = () => {
    const held = merged.document('json');
    return held === undefined ? undefined : JSON.parse(new TextDecoder().decode(held.body));
  };
  return { merged, answers, asked, clock, json };
}

describe('the merged OpenAPI v2 document', () => {
  test('has the paths and definitions of all servers, the newest leading', async () => {
    const { merged, json } = underTest();
    assert.equal(merged.document('json'), undefined);
    await merged.update(table);
    const { info, paths, definitions } = json();
    assert.equal(info.version, 'v1.26.0');
    assert.deepEqual(Object.keys(paths), ['/api/v1', '/new', '/old']);
    assert.deepEqual(Object.keys(definitions), ['New', 'Old', 'Same', 'v1']);
    assert.equal(definitions.Same.description, 'newer');
    assert.deepEqual(merged.problems(), []);
  });

  test('has the same content as protobuf', async () => {
    const { merged } = underTest();
    await merged.update(table);
    const parts = await openApiV2Codecs.protobuf.read(merged.document('protobuf')?.body ?? new Uint8Array());
    assert.deepEqual([...(parts.sections.get('paths')?.keys() ?? [])], ['/api/v1', '/new', '/old']);
    assert.deepEqual([...(parts.sections.get('definitions')?.keys() ?? [])], ['New', 'Old', 'Same', 'v1']);
  });

  test('is the same bytes wherever it is made, in whatever order the servers are listed', async () => {
    const [one, other] = [underTest(), underTest()];
    await one.merged.update(table);
    await other.merged.update(buildRoutingTable(snapshotOf({ newer: servers.newer, older: servers.older })));
    for (const form of ['json', 'protobuf'] as const) {
      assert.equal(await one.merged.document(form)?.etag(), await other.merged.document(form)?.etag());
    }
  });

  test('is read once for each set, form and change, however often it is asked for', async () => {
    const { merged, asked } = underTest();
    await Promise.all([merged.update(table), merged.update(table)]);
    await merged.update(buildRoutingTable({ ...table.snapshot }));
    for (let request = 0; request < 10; request++) merged.document('json');
    assert.equal(asked.length, 4);
    const alike = snapshotOf({ ...servers, twin: servers.newer });
    await merged.update(buildRoutingTable(alike));
    assert.equal(asked.length, 4);
  });

  test('is not made where all servers serve the same', async () => {
    const { merged, asked } = underTest();
    await merged.update(table);
    await merged.update(buildRoutingTable(snapshotOf({ a: ['v1/pods'], b: ['v1/pods'] })));
    assert.equal(merged.document('json'), undefined);
    assert.equal(asked.length, 4);
  });

  test('takes up a table that comes while it is being made', async () => {
    const { merged, answers, json } = underTest();
    const slow = Promise.withResolvers<void>();
    answers.set('newer', async (request) => {
      await slow.promise;
      return document(contents['newer'] as OpenApiV2Content)(request);
    });
    answers.set('third', document({ paths: ['/third'], definitions: {} }));
    const first = merged.update(table);
    const third = { version: 'v1.24.0', serves: ['third/v1/things'] };
    const second = merged.update(buildRoutingTable(snapshotOf({ ...servers, third })));
    slow.resolve();
    await Promise.all([first, second]);
    assert.ok('/third' in json().paths);
  });
});

describe('a server whose document cannot be used', () => {
  const garbage: Readonly<Record<string, Answer>> = {
    'an HTML page': () => ({
      status: 200,
      contentType: 'text/html; charset=utf-8',
      etag: undefined,
      body: new TextEncoder().encode('<html></html>'),
    }),
    'an HTML page that says it is JSON': ({ accept }) => ({
      status: 200,
      contentType: accept,
      etag: undefined,
      body: new TextEncoder().encode('<html></html>'),
    }),
    'a document that breaks off': async (request) => {
      const whole = await document(contents['older'] as OpenApiV2Content)(request);
      return { ...whole, body: whole.body.subarray(0, -2) };
    },
    'a refusal': () => ({
      status: 403,
      contentType: 'application/json',
      etag: undefined,
      body: new TextEncoder().encode('{}'),
    }),
    'a redirect': () => ({ status: 302, contentType: '', etag: undefined, body: new Uint8Array() }),
    'no answer': () => Promise.reject(new ServerDocumentError('The server gave no answer: ConnectFailed.')),
  };
  for (const [what, answer] of Object.entries(garbage)) {
    test(`is left out and named: ${what}`, async () => {
      const { merged, answers, json } = underTest();
      answers.set('older', answer);
      await merged.update(table);
      assert.deepEqual(Object.keys(json().paths), ['/api/v1', '/new']);
      const [problem, ...others] = merged.problems();
      assert.deepEqual([problem?.path, problem?.server, others], ['/openapi/v2', 'older', []]);
      assert.match(problem?.problem ?? '', /\.$/);
    });
  }

  test('does not lead: the others are merged without it', async () => {
    const { merged, answers, json } = underTest();
    answers.delete('newer');
    await merged.update(table);
    assert.deepEqual(Object.keys(json().paths), ['/api/v1', '/old']);
  });

  test('is spoken for by another one that serves the same', async () => {
    const { merged, answers, json } = underTest();
    answers.delete('older');
    answers.set('twin', document(contents['older'] as OpenApiV2Content));
    await merged.update(buildRoutingTable(snapshotOf({ ...servers, twin: servers.older })));
    assert.ok('/old' in json().paths);
    assert.equal(merged.problems()[0]?.server, 'older');
  });

  test('is tried again when the document is asked for a while later', async () => {
    const { merged, answers, clock, json, asked } = underTest();
    answers.delete('older');
    await merged.update(table);
    clock.now = 9_000;
    assert.equal('/old' in json().paths, false);
    const before = asked.length;
    answers.set('older', document(contents['older'] as OpenApiV2Content));
    clock.now = 10_000;
    assert.equal('/old' in json().paths, false, 'the request itself waits for nothing');
    await eventually(() => '/old' in json().paths);
    assert.ok(asked.length > before);
    merged.document('protobuf');
    await eventually(() => merged.problems().length === 0);
  });

  test('costs nothing that was read of it before', async () => {
    const { merged, answers, clock, json } = underTest();
    await merged.update(table);
    answers.delete('older');
    clock.now = 60_000;
    json();
    await eventually(() => merged.problems().length === 1);
    assert.ok('/old' in json().paths);
  });

  test('leaves nothing to give when there is no other', async () => {
    const { merged, answers } = underTest();
    answers.clear();
    await merged.update(table);
    assert.equal(merged.document('json'), undefined);
    assert.deepEqual(
      merged
        .problems()
        .map(({ server }) => server)
        .sort(),
      ['newer', 'older'],
    );
  });
});

test('after a minute the servers are asked whether anything changed, and only then read again', async () => {
  const { merged, answers, clock, asked, json } = underTest();
  await merged.update(table);
  clock.now = 60_000;
  merged.document('json');
  await eventually(() => asked.length === 6);
  assert.deepEqual(
    asked.slice(4).map(({ ifNoneMatch }) => ifNoneMatch),
    ['"1"', '"1"'],
  );

  answers.set('newer', document({ paths: ['/custom'], definitions: {} }, '"2"'));
  clock.now = 120_000;
  merged.document('json');
  await eventually(() => '/custom' in json().paths);
});
