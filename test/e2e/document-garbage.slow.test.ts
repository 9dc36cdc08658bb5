import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { Agent, request } from 'undici';
import { eventually } from '../support/eventually.ts';
import { htmlPage, hugeDocument, jsonText } from '../support/garbage-answers.ts';
import { type OpenApiV2Content, openApiV2Bytes } from '../support/openapi-v2.ts';
import { type RecordedRouters, startRecordedRouters } from '../support/recorded-routers.ts';
import type { ReplayAnswer } from '../support/replay-server.ts';

const content = (id: string): OpenApiV2Content => ({
  version: `v1.${id}`,
  paths: [`/of-${id}`],
  definitions: { [`Of${id}`]: id },
});

const document =
  (id: string): ReplayAnswer =>
  ({ headers }, response) => {
    const isProtobuf = headers.accept?.includes('proto-openapi') === true;
    const form = isProtobuf ? 'protobuf' : 'json';
    const type = isProtobuf
      ? 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
      : 'application/json';
    response.writeHead(200, { 'content-type': type }).end(openApiV2Bytes(form, content(id)));
  };

/** What server a answers instead of its OpenAPI v2 document. */
const garbage: Readonly<Record<string, ReplayAnswer>> = {
  'an HTML page': htmlPage,
  'a document that breaks off at a connection that is lost': (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000000' });
    response.write('{"swagger":"2.0","paths":{"/half":{', () => response.destroy());
  },
  'a document that ends too early': jsonText('{"swagger":"2.0","paths":{"/half":{'),
  'a document of 200 MB': hugeDocument,
};

interface Status {
  readonly documents: readonly { readonly path: string; readonly server: string; readonly problem: string }[];
}

for (const [what, answer] of Object.entries(garbage)) {
  describe(`over TLS, a peer answers /openapi/v2 with ${what}`, () => {
    let running: RecordedRouters;
    let dispatcher: Agent;
    before(async () => {
      running = await startRecordedRouters('kubernetes-1.25-1.26', ({ a, b }) => {
        a.answers.set('/openapi/v2', answer);
        b.answers.set('/openapi/v2', document('b'));
      });
      const { clusterCa, admin } = running.certificates;
      dispatcher = new Agent({
        connect: {
          ca: await readFile(clusterCa, 'utf8'),
          cert: await readFile(admin.certificate, 'utf8'),
          key: await readFile(admin.privateKey, 'utf8'),
        },
      });
    });
    after(async () => {
      await dispatcher.close();
      await running.stop();
    });

    const get = (path: string, accept = 'application/json') =>
      request(`${running.routers.b.origin}${path}`, { dispatcher, headers: { accept } });

    /** The document is made in the background. */
    async function problems(): Promise<Status['documents']> {
      let found: Status['documents'] = [];
      await eventually(async () => {
        const { documents } = (await (await get('/.mixed-version-proxy/v1/status')).body.json()) as Status;
        found = documents.filter(({ path }) => path === '/openapi/v2');
        return found.length > 0;
      });
      return found;
    }

    test('its part is left out and named, and the rest is served', async () => {
      const [problem, ...others] = await problems();
      assert.deepEqual([problem?.server, others], ['a', []]);
      assert.doesNotMatch(problem?.problem ?? '', /127\.0\.0\.1/);
      const openApi = await get('/openapi/v2');
      assert.equal(openApi.statusCode, 200);
      assert.deepEqual(Object.keys(((await openApi.body.json()) as { paths: object }).paths), ['/of-b']);
      const apis = await get('/apis');
      assert.match(await apis.body.text(), /flowcontrol\.apiserver\.k8s\.io\/v1beta1/);
    });
  });
}
