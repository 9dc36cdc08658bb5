import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type OpenApiV2Content, openApiV2Bytes } from '../../../test/support/openapi-v2.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import {
  type ServerDocument,
  ServerDocumentError,
  type ServerDocumentRequest,
} from '../server-documents/sources.ts';
import { MergedOpenApiV2, openApiV2Codecs } from './merged-openapi-v2.ts';

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
      if (answer === undefined) throw new ServerDocumentError('The server did not respond: ConnectFailed.');
      return answer(request);
    },
    clock: () => clock.now,
    logger: silentLogger,
  });
  const json = async () => {
    const held = await merged.document('json');
    return held === undefined ? undefined : JSON.parse(new TextDecoder().decode(held.body));
  };
  return { merged, answers, asked, clock, json };
}

describe('the merged OpenAPI v2 document', () => {
  test('has the paths and definitions of all servers, the newest leading', async () => {
    const { merged, json } = underTest();
    assert.equal(await merged.document('json'), undefined);
    await merged.update(table);
    const { info, paths, definitions } = await json();
    assert.equal(info.version, 'v1.26.0');
    assert.deepEqual(Object.keys(paths), ['/api/v1', '/new', '/old']);
    assert.deepEqual(Object.keys(definitions), ['New', 'Old', 'Same', 'v1']);
    assert.equal(definitions.Same.description, 'newer');
    assert.deepEqual(merged.problems(), []);
  });

  test('has the same content as protobuf', async () => {
    const { merged } = underTest();
    await merged.update(table);
    const parts = await openApiV2Codecs.protobuf.read(
      (await merged.document('protobuf'))?.body ?? new Uint8Array(),
    );
    assert.deepEqual([...(parts.sections.get('paths')?.keys() ?? [])], ['/api/v1', '/new', '/old']);
    assert.deepEqual([...(parts.sections.get('definitions')?.keys() ?? [])], ['New', 'Old', 'Same', 'v1']);
  });

  test('is the same bytes wherever it is made, in whatever order the servers are listed', async () => {
    const [one, other] = [underTest(), underTest()];
    await one.merged.update(table);
    await other.merged.update(buildRoutingTable(snapshotOf({ newer: servers.newer, older: servers.older })));
    for (const form of ['json', 'protobuf'] as const) {
      assert.equal(
        await (await one.merged.document(form))?.etag(),
        await (await other.merged.document(form))?.etag(),
      );
    }
  });

  test('is read once for each set, form and change, however often it is asked for', async () => {
    const { merged, asked } = underTest();
    await Promise.all([merged.update(table), merged.update(table)]);
    await merged.update(buildRoutingTable({ ...table.snapshot }));
    await Promise.all(Array.from({ length: 10 }, () => merged.document('json')));
    assert.equal(asked.length, 4);
  });

  test('is not made where all servers serve the same', async () => {
    const { merged, asked } = underTest();
    await merged.update(table);
    await merged.update(buildRoutingTable(snapshotOf({ a: ['v1/pods'], b: ['v1/pods'] })));
    assert.equal(await merged.document('json'), undefined);
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
    assert.ok('/third' in (await json()).paths);
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
    'no answer': () => Promise.reject(new ServerDocumentError('The server did not respond: ConnectFailed.')),
  };
  for (const [what, answer] of Object.entries(garbage)) {
    test(`is left out and named: ${what}`, async () => {
      const { merged, answers, json } = underTest();
      answers.set('older', answer);
      await merged.update(table);
      assert.deepEqual(Object.keys((await json()).paths), ['/api/v1', '/new']);
      const [problem, ...others] = merged.problems();
      assert.deepEqual([problem?.path, problem?.server, others], ['/openapi/v2', 'older', []]);
      assert.match(problem?.problem ?? '', /\.$/);
    });
  }

  test('does not lead: the others are merged without it', async () => {
    const { merged, answers, json } = underTest();
    answers.delete('newer');
    await merged.update(table);
    assert.deepEqual(Object.keys((await json()).paths), ['/api/v1', '/old']);
  });

  test('is spoken for by another one that serves the same', async () => {
    const { merged, answers, json } = underTest();
    answers.delete('older');
    answers.set('twin', document(contents['older'] as OpenApiV2Content));
    await merged.update(buildRoutingTable(snapshotOf({ ...servers, twin: servers.older })));
    assert.ok('/old' in (await json()).paths);
    assert.equal(merged.problems()[0]?.server, 'older');
  });

  test('is tried again when the document is asked for a while later', async () => {
    const { merged, answers, clock, json, asked } = underTest();
    answers.delete('older');
    await merged.update(table);
    clock.now = 9_000;
    assert.equal('/old' in (await json()).paths, false);
    const ofOlder = () => asked.filter(({ server }) => server.id === 'older').length;
    const before = ofOlder();
    answers.set('older', document(contents['older'] as OpenApiV2Content));
    assert.equal('/old' in (await json()).paths, false);
    assert.equal(ofOlder(), before);
    clock.now = 10_000;
    assert.ok('/old' in (await json()).paths);
    assert.ok(ofOlder() > before);
    await merged.document('protobuf');
    assert.deepEqual(merged.problems(), []);
  });

  test('costs nothing that was read of it before', async () => {
    const { merged, answers, clock, json } = underTest();
    await merged.update(table);
    answers.delete('older');
    answers.set('newer', document({ paths: ['/custom'], definitions: {} }, '"2"'));
    clock.now = 60_000;
    // What the others changed meanwhile is there all the same.
    assert.deepEqual(Object.keys((await json()).paths).sort(), ['/api/v1', '/custom', '/old']);
    assert.equal(merged.problems().length, 1);
  });

  test('leaves nothing to give when there is no other', async () => {
    const { merged, answers } = underTest();
    answers.clear();
    await merged.update(table);
    assert.equal(await merged.document('json'), undefined);
    assert.deepEqual(
      merged
        .problems()
        .map(({ server }) => server)
        .sort(),
      ['newer', 'older'],
    );
  });
});

describe('a document that is asked for', () => {
  test('is compared with the servers’ own when that was done a second ago, and read again only where it differs', async () => {
    const { merged, answers, clock, asked, json } = underTest();
    await merged.update(table);
    clock.now = 999;
    await json();
    assert.equal(asked.length, 4);
    clock.now = 1_000;
    await json();
    assert.deepEqual(
      asked.slice(4).map(({ ifNoneMatch }) => ifNoneMatch),
      ['"1"', '"1"'],
    );

    answers.set('newer', document({ paths: ['/custom'], definitions: {} }, '"2"'));
    clock.now = 2_000;
    assert.ok('/custom' in (await json()).paths);
  });

  test('is compared once for all who ask at the same time, and each of them gets what has changed', async () => {
    const { merged, answers, clock, asked, json } = underTest();
    await merged.update(table);
    answers.set('newer', document({ paths: ['/custom'], definitions: {} }, '"2"'));
    clock.now = 5_000;
    const documents = await Promise.all(Array.from({ length: 50 }, json));
    assert.ok(documents.every(({ paths }) => '/custom' in paths));
    assert.equal(asked.length, 6);
  });

  test('waits for another look where one that is under way began too long ago', async () => {
    const { merged, answers, clock, json } = underTest();
    await merged.update(table);
    const slow = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const unchanged = document(contents['newer'] as OpenApiV2Content);
    answers.set('newer', async (request) => {
      const answer = unchanged(request);
      begun.resolve();
      await slow.promise;
      return answer;
    });
    clock.now = 1_000;
    const early = json();
    await begun.promise;
    // The server changes when its answer is on the way; whoever asks a second later is told of it.
    answers.set('newer', document({ paths: ['/custom'], definitions: {} }, '"2"'));
    clock.now = 2_000;
    const late = json();
    slow.resolve();
    assert.equal('/custom' in (await early).paths, false);
    assert.ok('/custom' in (await late).paths);
  });

  test('is given as it is when a server does not respond for five seconds, and then at once', async (context) => {
    const { merged, answers, clock, json } = underTest();
    await merged.update(table);
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const asked = Promise.withResolvers<void>();
    answers.set('newer', () => {
      asked.resolve();
      return new Promise<never>(() => {});
    });
    clock.now = 1_000;
    const waiting = json();
    await asked.promise;
    context.mock.timers.tick(5_000);
    assert.ok('/new' in (await waiting).paths);
    clock.now = 6_000;
    assert.ok('/new' in (await json()).paths);
  });

  test('is asked of the local server, where several serve the same', async () => {
    const asked: string[] = [];
    const merged = new MergedOpenApiV2({
      read: (request) => {
        asked.push(request.server.id);
        return Promise.resolve(
          document(contents[request.server.version === 'v1.26.0' ? 'newer' : 'older'] as OpenApiV2Content)(
            request,
          ),
        );
      },
      clock: () => 0,
      logger: silentLogger,
      localServerId: () => 'zz-local',
    });
    await merged.update(buildRoutingTable(snapshotOf({ ...servers, 'zz-local': servers.newer })));
    assert.deepEqual([...new Set(asked)].sort(), ['older', 'zz-local']);
  });

  test('is not made ahead of requests again and again, while nobody asks', async () => {
    const { merged, clock, asked } = underTest();
    await merged.update(table);
    clock.now = 120_000;
    const changed = { ...servers, newer: { ...servers.newer, serves: ['v1/pods', 'custom/v1/things'] } };
    await merged.update(buildRoutingTable(snapshotOf(changed)));
    assert.equal(asked.length, 4);
  });
});
