import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { Agent, WebSocket } from 'undici';
import type { CertificatePaths } from '../../demo/certificates.ts';
import type { DemoUnderTest } from '../support/running-demo.ts';
import { sharedDemo } from './shared-demo.ts';

/** Only the server of 1.36 has these. */
const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';

/** Java clients of Kubernetes watch by WebSocket. */
describe('a watch by WebSocket through the router of a server without the resource', () => {
  let running: DemoUnderTest;
  let dispatcher: Agent;
  before(async () => {
    running = await sharedDemo();
    dispatcher = new Agent({ connect: clientOf(running.demo.certificates.alice) });
  });
  after(() => dispatcher.destroy());

  const clientOf = ({ certificate, privateKey }: CertificatePaths) => ({
    ca: readFileSync(running.demo.certificates.clusterCa),
    cert: readFileSync(certificate),
    key: readFileSync(privateKey),
  });
  const router = (): string => running.demo.routers[0]?.origin ?? '';

  test('brings each event of the peer as a message of text', async () => {
    const url = `${router().replace('https', 'wss')}${policies}?watch=true&fieldSelector=metadata.name%3Dwatched`;
    const socket = new WebSocket(url, { dispatcher, headers: { origin: router() } });
    const events: string[] = [];
    let changed = (): void => {};
    socket.onmessage = ({ data }) => {
      assert.equal(typeof data, 'string');
      const { type, object } = JSON.parse(data);
      events.push(`${type} ${object.kind} ${object.metadata.name}`);
      changed();
    };
    const until = async (count: number): Promise<void> => {
      while (events.length < count) {
        const next = Promise.withResolvers<void>();
        changed = next.resolve;
        await next.promise;
      }
    };
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    const kind = 'ValidatingAdmissionPolicy';
    const policy = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind,
      metadata: { name: 'watched' },
      spec: { failurePolicy: 'Fail', validations: [{ expression: 'true' }] },
    };
    assert.equal(await send('POST', policies, { body: policy }), 201);
    await until(1);
    assert.equal(await send('DELETE', `${policies}/watched`), 200);
    await until(2);
    assert.deepEqual(events, [`ADDED ${kind} watched`, `DELETED ${kind} watched`]);
    const closed = new Promise((resolve) => {
      socket.onclose = resolve;
    });
    socket.close();
    await closed;
  });

  test('is refused as the peer refuses it: without an Origin', async () => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
    };
    assert.equal(await send('GET', `${policies}?watch=true`, { headers }), 403);
  });

  /** Sends a request as the administrator; resolves with the status code. */
  function send(
    method: string,
    path: string,
    { body, headers = {} }: { readonly body?: unknown; readonly headers?: Record<string, string> } = {},
  ): Promise<number | undefined> {
    const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const type = content && { 'content-type': 'application/json', 'content-length': content.length };
    const options = { method, agent: false, headers: { ...type, ...headers } };
    return new Promise((resolve, reject) => {
      request(
        `${router()}${path}`,
        { ...options, ...clientOf(running.demo.certificates.admin) },
        (response) => response.resume().on('end', () => resolve(response.statusCode)),
      )
        .on('error', reject)
        .end(content);
    });
  }
});
