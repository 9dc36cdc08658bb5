import assert from 'node:assert/strict';
import { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { MemoryBudget } from '../../../packages/http2/index.ts';
import { type Account, headMemory } from '../../../packages/http2/shared.ts';
import { HeldByHttp1, Http1Message } from './held-by-http1.ts';
import { HeldByKernel } from './held-by-kernel.ts';

/** A connection whose counters a test sets. */
class ScriptedSocket extends PassThrough {
  bytesRead = 0;
  bytesWritten = 0;
  waiting = 0;
  stands = false;

  constructor() {
    super();
    Object.defineProperty(this, 'writableLength', { get: () => this.waiting });
    Object.defineProperty(this, 'writableNeedDrain', { get: () => this.stands });
  }
}

interface Opened {
  readonly memory: MemoryBudget;
  readonly account: Account;
  readonly held: HeldByHttp1;
  readonly socket: ScriptedSocket;
  /** The head of a request was received, and its content as well. */
  request(lines?: readonly string[]): { readonly message: Http1Message; readonly response: ServerResponse };
}

function open(context: TestContext): Opened {
  const memory = new MemoryBudget(2 ** 24);
  const account = memory.account({ name: 'alice', isVerified: true, connection: { giveUp: () => {} } });
  const socket = new ScriptedSocket();
  const asTls = socket as unknown as TLSSocket;
  // Looks at its connections when a test says so.
  const held = new HeldByHttp1(2 ** 30, 64 * 1024, new HeldByKernel());
  held.opened(asTls, account);
  context.after(() => socket.destroy());
  const request = (lines: readonly string[] = ['host', 'a']) => {
    const message = new Http1Message(asTls);
    message.url = '/held';
    message.rawHeaders = [...lines];
    message.complete = true;
    message.endedAt = socket.bytesRead;
    return { message, response: new ServerResponse(message) };
  };
  return { memory, account, held, socket, request };
}

const head = headMemory('/held', ['host', 'a']);
/** More than the parser may keep without being counted. */
const long = ['host', 'a', 'x-long', 'x'.repeat(40_000)];
const keptOfLong = '/held'.length + long.join('').length;

describe('what is held for a connection of HTTP/1.1', () => {
  test('the head of a request, until its response has begun', (context) => {
    const { memory, held, request } = open(context);
    const { message, response } = request();
    held.begin(message, response);
    held.check();
    assert.equal(memory.bytes, head);
    response.writeHead(200);
    held.check();
    assert.equal(memory.bytes, 0);
  });

  test('the head of one request at a time, however late it is looked at', (context) => {
    const { memory, held, request } = open(context);
    const first = request();
    held.begin(first.message, first.response);
    const second = request();
    held.begin(second.message, second.response);
    assert.equal(memory.bytes, head);
  });

  test('what was sent ahead of the next request, until that has begun', (context) => {
    const { memory, held, socket, request } = open(context);
    const first = request();
    held.begin(first.message, first.response);
    first.response.writeHead(200);
    socket.bytesRead += 700;
    held.check();
    assert.equal(memory.bytes, 700);
    const second = request();
    held.begin(second.message, second.response);
    second.response.writeHead(200);
    held.check();
    assert.equal(memory.bytes, 0);
  });

  test('content that nobody reads, and what waits for a client that takes nothing', (context) => {
    const { memory, held, socket, request } = open(context);
    const { message, response } = request();
    const content = held.begin(message, response);
    assert.ok(typeof content !== 'string');
    response.writeHead(200);
    message.push(Buffer.alloc(500));
    socket.waiting = 300;
    content.add(200);
    held.check();
    assert.equal(memory.bytes, 1_000);
    message.read();
    content.add(-200);
    socket.waiting = 0;
    held.check();
    assert.equal(memory.bytes, 0);
  });

  test('long lines that the parser keeps, until the connection ends', (context) => {
    const { memory, account, held, request } = open(context);
    const { message, response } = request(long);
    held.begin(message, response);
    response.writeHead(200);
    held.check();
    assert.equal(memory.bytes, keptOfLong);
    account.close();
    assert.equal(memory.bytes, 0);
  });
});

describe('what is held for a tunnel', () => {
  test('nothing of the requests before it, and its head until the server has responded', (context) => {
    const { memory, held, socket, request } = open(context);
    const { message, response } = request(long);
    held.begin(message, response);
    message.push(Buffer.alloc(500));
    socket.bytesRead += 700;
    held.check();
    assert.equal(memory.bytes, headMemory('/held', long) + keptOfLong + 500 + 700);
    const upgrade = held.beginUpgrade(request().message);
    assert.equal(memory.bytes, head);
    assert.ok(typeof upgrade !== 'string');
    upgrade.headForgotten();
    upgrade.headForgotten();
    assert.equal(memory.bytes, 0);
  });

  test('buffers of two connections, while one of them takes nothing', (context) => {
    const { memory, account, held, socket, request } = open(context);
    const upgrade = held.beginUpgrade(request().message);
    assert.ok(typeof upgrade !== 'string');
    upgrade.headForgotten();
    const destination = new ScriptedSocket();
    context.after(() => destination.destroy());
    upgrade.tunnelOpened(destination);
    for (const end of [socket, destination]) {
      end.stands = true;
      held.check();
      assert.equal(memory.bytes, 256 * 1024);
      end.stands = false;
      held.check();
      assert.equal(memory.bytes, 0);
    }
    socket.stands = true;
    held.check();
    account.close();
    held.check();
    assert.equal(memory.bytes, 0);
  });
});
