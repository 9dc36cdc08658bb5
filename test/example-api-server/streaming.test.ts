import assert from 'node:assert/strict';
import { request as httpsRequest } from 'node:https';
import { after, describe, it } from 'node:test';
import { Agent, WebSocket } from 'undici';
import { clientOf, createPki, startServer } from './support.ts';

const pki = await createPki();
const server = await startServer(pki, '1.36', { name: 'streaming-server' });
const ask = clientOf(server, pki, pki.admin);
const pods = '/api/v1/namespaces/default/pods';
const containers = [{ name: 'main', image: 'nginx' }];
await ask(pods, { method: 'POST', body: { metadata: { name: 'p' }, spec: { containers } } });
const { chain, privateKey } = pki.admin;
const dispatcher = new Agent({ connect: { ca: pki.serving.certificate, cert: chain, key: privateKey } });
after(() => dispatcher.destroy());

interface Connection {
  readonly socket: WebSocket;
  /** The next message; `undefined` once the connection is closed. */
  next(): Promise<Buffer | undefined>;
}

function connect(path: string, protocol = 'v5.channel.k8s.io', origin?: string): Promise<Connection> {
  const socket = new WebSocket(`${server.url.replace('https', 'wss')}${path}`, {
    protocols: protocol === '' ? [] : [protocol],
    dispatcher,
    ...(origin === undefined ? {} : { headers: { origin } }),
  });
  socket.binaryType = 'arraybuffer';
  const messages: (Buffer | undefined)[] = [];
  const waiting: ((message: Buffer | undefined) => void)[] = [];
  const push = (message: Buffer | undefined): void => {
    const waiter = waiting.shift();
    if (waiter === undefined) messages.push(message);
    else waiter(message);
  };
  socket.onmessage = ({ data }) => push(Buffer.from(data));
  socket.onclose = () => push(undefined);
  const next = (): Promise<Buffer | undefined> =>
    messages.length > 0 ? Promise.resolve(messages.shift()) : new Promise((resolve) => waiting.push(resolve));
  return new Promise((resolve, reject) => {
    socket.onopen = () => resolve({ socket, next });
    socket.onerror = reject;
  });
}

const message = (channel: number, text: string): Buffer =>
  Buffer.concat([Buffer.from([channel]), Buffer.from(text)]);

describe('a stream to a pod', () => {
  it('exec says who asked for which command, and ends well', async () => {
    const { socket, next } = await connect(`${pods}/p/exec?command=ls&command=-la&command=a%20b&stdout=true`);
    assert.equal(socket.protocol, 'v5.channel.k8s.io');
    const greeting = await next();
    assert.equal(greeting?.[0], 1);
    const text = String(greeting?.subarray(1));
    assert.match(text, /^user: alice$/m);
    assert.match(text, /^server: streaming-server$/m);
    assert.match(text, /^command: "ls" "-la" "a b"$/m);
    const status = await next();
    assert.equal(status?.[0], 3);
    assert.equal(JSON.parse(String(status?.subarray(1))).status, 'Success');
    assert.equal(await next(), undefined);
  });

  it('exec sends stdin back until it is closed', async () => {
    const { socket, next } = await connect(`${pods}/p/exec?command=cat&stdin=true&stdout=true`);
    await next();
    for (const text of ['hello', 'x'.repeat(70_000)]) {
      socket.send(message(0, text));
      const echo = await next();
      assert.equal(echo?.[0], 1);
      assert.equal(String(echo?.subarray(1)), text);
    }
    // Version 5: channel 255 closes the channel that is named.
    socket.send(Buffer.from([255, 0]));
    assert.equal((await next())?.[0], 3);
    assert.equal(await next(), undefined);
  });

  it('portforward opens two channels for each port and sends data back', async () => {
    const { socket, next } = await connect(`${pods}/p/portforward?ports=80&ports=8080`, 'v4.channel.k8s.io');
    const opened = [await next(), await next(), await next(), await next()];
    assert.deepEqual(
      opened.map((bytes) => [...(bytes ?? [])]),
      [
        [0, 80, 0],
        [1, 80, 0],
        [2, 0x90, 0x1f],
        [3, 0x90, 0x1f],
      ],
    );
    socket.send(message(2, 'GET /'));
    assert.equal(String(await next()), String(message(2, 'GET /')));
    socket.close();
  });

  it('is refused with a Status over SPDY, without an upgrade, and to a pod that is not there', async () => {
    const spdy = await upgradeAnswer(`${pods}/p/exec?command=ls`, {
      upgrade: 'SPDY/3.1',
      connection: 'Upgrade',
    });
    assert.match(spdy, /^400 .*WebSocket only, not SPDY\/3\.1; use kubectl 1\.30/);
    const forward = await upgradeAnswer(`${pods}/p/portforward`, {
      upgrade: 'SPDY/3.1',
      connection: 'Upgrade',
    });
    assert.match(forward, /^400 .*WebSocket only, not SPDY\/3\.1; kubectl port-forward.* does not work here/);
    assert.match((await ask(`${pods}/p/exec?command=ls`)).text, /Upgrade request required/);
    const webSocket = {
      upgrade: 'websocket',
      connection: 'Upgrade',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'v5.channel.k8s.io',
    };
    assert.match(await upgradeAnswer(`${pods}/nosuch/exec`, webSocket), /^404 .*pods \\"nosuch\\" not found/);
    assert.match(await upgradeAnswer('/version', webSocket), /^400 .*\/version is no stream/);
    const unknown = { ...webSocket, 'sec-websocket-protocol': 'chat' };
    assert.match(await upgradeAnswer(`${pods}/p/exec`, unknown), /^400 .*none of chat is spoken here/);
  });

  it('a log is text, and goes on while it is followed', async () => {
    const log = await ask(`${pods}/p/log?tailLines=1`);
    assert.equal(log.text, 'line 3 of default/p/main from streaming-server to alice\n');
    const { code } = await ask(`${pods}/p/log?container=other`);
    assert.equal(code, 400);
    assert.match(await firstLines(`${pods}/p/log?follow=true`, 4), /line 4 of default\/p\/main/);
  });
});

describe('a watch by WebSocket', () => {
  const jobs = '/apis/batch/v1/jobs?watch=true';
  const origin = server.url;

  it('brings one event a message, and closes well', async () => {
    const job = { metadata: { name: 'j' }, spec: {} };
    await ask('/apis/batch/v1/namespaces/default/jobs', { method: 'POST', body: job });
    const { socket, next } = await connect(jobs, '', origin);
    const closed = new Promise<number>((resolve) => {
      socket.addEventListener('close', ({ code }) => resolve(code));
    });
    const event = String(await next());
    assert.match(event, /^\{"type":"ADDED",.*\}\n$/);
    assert.equal(JSON.parse(event).object.metadata.name, 'j');
    await ask('/apis/batch/v1/namespaces/default/jobs/j', { method: 'DELETE' });
    assert.match(String(await next()), /^\{"type":"DELETED"/);
    server.setGroupVersion('batch/v1', false);
    assert.equal(await closed, 1000);
    server.setGroupVersion('batch/v1', true);
  });

  it('takes whatever protocol is named alone', async () => {
    const { socket } = await connect(jobs, 'binary.k8s.io', origin);
    assert.equal(socket.protocol, 'binary.k8s.io');
    socket.close();
  });

  it('is refused without an Origin, with several protocols, and for what a watch is refused for', async () => {
    const webSocket = {
      upgrade: 'websocket',
      connection: 'Upgrade',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
    };
    assert.match(await upgradeAnswer(jobs, webSocket), /^403 .*needs the header Origin/);
    const several = { ...webSocket, origin, 'sec-websocket-protocol': 'a, b' };
    assert.match(await upgradeAnswer(jobs, several), /^400 .*one protocol at most/);
    assert.match(
      await upgradeAnswer(`${jobs}&resourceVersionMatch=Exact`, { ...webSocket, origin }),
      /^422 /,
    );
  });
});

function upgradeAnswer(path: string, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { ca: pki.serving.certificate, cert: chain, key: privateKey, agent: false, headers };
    const request = httpsRequest(`${server.url}${path}`, options, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve(`${response.statusCode} ${text}`));
    });
    request.on('upgrade', () => reject(new Error('upgraded')));
    request.on('error', reject);
    request.end();
  });
}

/** Reads until so many lines are there, then goes away. */
function firstLines(path: string, count: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { ca: pki.serving.certificate, cert: chain, key: privateKey, agent: false };
    const request = httpsRequest(`${server.url}${path}`, options, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
        if (text.split('\n').length <= count) return;
        resolve(text);
        request.destroy();
      });
    });
    request.on('error', reject);
    request.end();
  });
}
