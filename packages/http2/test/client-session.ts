import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { connect } from 'node:tls';
import { ClientSession, type ClientSessionOptions, ConnectionInbox } from '../client/client-session.ts';
import type { ClientRequest, ClientStream, StreamListener } from '../client/client-stream.ts';
import { Http2Error } from '../frames/frame.ts';
import { trusting } from './certificate.ts';
import { eventually } from './eventually.ts';
import { type RawHttp2Peer, type RawHttp2ServerOptions, startRawHttp2Server } from './raw-http2-peer.ts';

/** The outcome of one request. */
class RecordedResponse implements StreamListener {
  /** The status of each head. More than one would be a fault. */
  readonly statuses: number[] = [];
  lines: readonly string[] = [];
  content = '';
  /** How often the listener was told that it is over. More than once would be a fault. */
  endings = 0;
  refused: boolean | undefined;
  error: Error | undefined;

  begun(): void {}

  head(status: number, lines: string[]): void {
    this.statuses.push(status);
    this.lines = lines;
  }

  data(piece: Uint8Array): void {
    assert.equal(this.endings, 0);
    this.content += Buffer.from(piece).toString('latin1');
  }

  end(): void {
    this.endings++;
  }

  fail(error: Error, refused: boolean): void {
    this.endings++;
    this.error = error;
    this.refused = refused;
  }

  /** Waits for its end. @returns its content. @throws when it failed */
  async whole(): Promise<string> {
    await eventually(() => this.endings > 0);
    assert.equal(this.endings, 1);
    if (this.error !== undefined) throw this.error;
    assert.equal(this.statuses.length, 1);
    return this.content;
  }

  /** Waits for its failure. */
  async failure(): Promise<Http2Error> {
    await eventually(() => this.endings > 0);
    assert.equal(this.endings, 1);
    assert.ok(this.error instanceof Http2Error, `it ended with ${this.error}`);
    return this.error;
  }
}

export interface Asked {
  readonly stream: ClientStream;
  readonly response: RecordedResponse;
}

interface OpenSession {
  readonly session: ClientSession;
  /** Events that the session told of itself, in order: `goaway`, `silence`, `closed`. */
  readonly events: string[];
  /** How often the server has read what waited for it. */
  rooms(): number;
  ask(request?: Partial<ClientRequest>): Asked;
}

/**
 * A session with a server on loopback, closed at the end of the test.
 * @param isAwaited whether the server says something of its own, settings as a rule, which is waited for.
 */
export async function openSession(
  context: TestContext,
  port: number,
  overrides: Partial<ClientSessionOptions> = {},
  isAwaited = true,
): Promise<OpenSession> {
  const inbox = new ConnectionInbox();
  const socket = connect({
    port,
    ...trusting,
    ALPNProtocols: ['h2'],
    // Node's types leave it out of the options of node:tls.
    ...{ onread: inbox.onread },
  });
  socket.setNoDelay();
  await once(socket, 'secureConnect');
  const events: string[] = [];
  let rooms = 0;
  const session = new ClientSession({
    socket,
    inbox,
    authority: `127.0.0.1:${port}`,
    limits: {
      streamWindow: 65_536,
      maximumHeaderLines: 100,
      maximumHeaderBytes: 64 * 1024,
    },
    maximumStreams: 10,
    events: {
      onRoom: () => {
        rooms++;
      },
      onGoAway: () => events.push('goaway'),
      onSilence: () => events.push('silence'),
      onDraining: () => {},
      onClosed: () => events.push('closed'),
    },
    ...overrides,
  });
  context.after(() => session.destroy(new Error('the test is over')));
  if (isAwaited) await eventually(() => events.length > 0 || session.serverSettings !== undefined);
  const ask = (request: Partial<ClientRequest> = {}): Asked => {
    const response = new RecordedResponse();
    const whole = { method: 'GET', target: '/', headers: [], content: undefined, ...request };
    return { stream: session.request(whole, response), response };
  };
  return { session, events, rooms: () => rooms, ask };
}

/** A session, and the other end of its connection. */
export async function openSessionWithPeer(
  context: TestContext,
  options: RawHttp2ServerOptions = {},
  overrides: Partial<ClientSessionOptions> = {},
): Promise<OpenSession & { readonly peer: RawHttp2Peer }> {
  const { port, peers } = await startRawHttp2Server(context, options);
  const opened = await openSession(context, port, overrides, options.first?.length !== 0);
  await eventually(() => peers.length > 0);
  const [peer] = peers;
  assert.ok(peer);
  return { ...opened, peer };
}

/** The same with a request that the server has got. */
export async function openSessionWithRequest(
  context: TestContext,
  request?: Partial<ClientRequest>,
): Promise<OpenSession & Asked & { readonly peer: RawHttp2Peer }> {
  const opened = await openSessionWithPeer(context);
  const asked = opened.ask(request);
  await opened.peer.settled();
  return { ...opened, ...asked };
}
