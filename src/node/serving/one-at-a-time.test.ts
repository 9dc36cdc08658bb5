import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { OneAtATime } from './server.ts';

test('a request that arrives after its connection has ended is not processed', () => {
  const pipelines = new OneAtATime();
  const socket = new Socket();
  const handled: string[] = [];
  const run = (name: string): ServerResponse => {
    const incoming = new IncomingMessage(socket);
    const outgoing = new ServerResponse(incoming);
    pipelines.run(incoming, outgoing, () => handled.push(name));
    return outgoing;
  };
  // As one that is connected.
  Object.defineProperty(socket, 'writable', { value: true, configurable: true });
  run('first').destroy();
  run('second').destroy();
  Object.defineProperty(socket, 'writable', { value: false });
  run('behind the end');
  assert.deepEqual(handled, ['first', 'second']);
});
