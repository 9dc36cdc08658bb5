import type { TLSSocket } from 'node:tls';
import { maximumHeaderLines, type ServerLimits, streamWindow } from '../../node/server-limits.ts';
import type { SendWindow } from '../frames/flow-window.ts';
import { errorCode, frameFlag, frameHead, frameType, initialConnectionWindow } from '../frames/frame.ts';
import { FrameReader } from '../frames/frame-reader.ts';
import type { Budget, StreamState } from '../frames/frame-rules.ts';
import { GivenUpStreams } from '../frames/given-up-streams.ts';
import type { ReceivedHeaders } from '../frames/header-assembly.ts';
import { connectionFault, Http2Error, malformedRequest } from '../frames/http2-error.ts';
import { onStream, type ReceivingSession, SessionReceiver } from '../frames/session-receiver.ts';
import { initialSettings, type Settings, serverSettings } from '../frames/settings.ts';
import { StreamTable } from '../frames/stream-table.ts';
import type { AddressConduct } from './address-conduct.ts';
import { ClientConduct } from './client-conduct.ts';
import { clientFrameRules } from './client-frame-rules.ts';
import { endInPeace } from './end-in-peace.ts';
import { Preface } from './preface.ts';
import type { RequestContent } from './request-content.ts';
import { parseRequestHead, type RequestHead } from './request-head.ts';
import { ServerOutput } from './server-output.ts';
import { ServerStream, type StreamConnection } from './server-stream.ts';
import type { UnfinishedHead, UnfinishedHeads } from './unfinished-heads.ts';

/** What the connections of one server have in common. */
export interface ServerSessionHost {
  readonly limits: Pick<ServerLimits, 'maxConcurrentStreams' | 'maxSessionRejectedStreams'>;
  /** What clients have done by their addresses. */
  readonly addresses: AddressConduct;
  /** Whether the client has shown a certificate that was verified. */
  isVerified(socket: TLSSocket): boolean;
  /** Bytes of the head of a request. */
  maximumHeaderBytes(isVerified: boolean): number;
  /** What is held of heads that are not whole, of all clients that are verified, or are not. */
  unfinishedHeads(isVerified: boolean): UnfinishedHeads;
  /** A request has come whose head is too large; there is little else to know of it. */
  headTooLarge(session: ServerSession, stream: ServerStream, method: string): void;
  /** A request has come. */
  requested(session: ServerSession, stream: ServerStream, head: RequestHead): void;
  /** Something of ours has failed: the connection ends, and nothing else. */
  failed(error: unknown): void;
  /** The connection is over. */
  closed(session: ServerSession): void;
}

/**
 * Between an answer and the request to stop sending what was left of its request (RFC 9113 section 8.1). Where both come
 * in one read curl takes the answer for broken.
 */
const stopMilliseconds = 100;
/** For reading the last answers of a connection, and the GOAWAY of one that has failed. */
const patience = { answers: 5_000, failure: 500 } as const;

/** The server's side of one HTTP/2 connection (RFC 9113): many requests at a time, and nothing pushed. */
export class ServerSession implements ReceivingSession<ServerStream>, StreamConnection, UnfinishedHead {
  readonly socket: TLSSocket;
  readonly output: ServerOutput;
  readonly #host: ServerSessionHost;
  readonly #preface = new Preface();
  readonly #reader: FrameReader;
  readonly #receiver: SessionReceiver<ServerStream>;
  readonly #conduct: ClientConduct;
  readonly #streams = new StreamTable<ServerStream>();
  readonly #givenUp = new GivenUpStreams();
  readonly #unfinishedHeads: UnfinishedHeads;
  /** The block, or the frame, that was unfinished when the last bytes had been read. */
  #unfinished: object | undefined;
  /** The highest identifier of a stream that was opened. */
  #lastStreamId = 0;
  /** The highest that will ever be, once that has been said. */
  #goAwaySent = false;
  #clientLeaves = false;
  #isEnding = false;
  /** More may be sent: looked at once for all frames that came together, for a client may send many that widen a little. */
  #hasWidened = false;
  /** Content that came in the read that is being dealt with. */
  #received: RequestContent[] = [];

  constructor(socket: TLSSocket, host: ServerSessionHost) {
    this.socket = socket;
    this.#host = host;
    const { maxConcurrentStreams, maxSessionRejectedStreams } = host.limits;
    const isVerified = host.isVerified(socket);
    this.#unfinishedHeads = host.unfinishedHeads(isVerified);
    this.#conduct = new ClientConduct({
      maximumRefused: maxSessionRejectedStreams,
      isVerified,
      address: socket.remoteAddress ?? '',
      addresses: host.addresses,
    });
    this.output = new ServerOutput(socket, {
      onDataSent: (bytes) => this.#conduct.dataSent(bytes),
      onFailure: (error) => this.#failOn(error),
    });
    // All streams together must not be held to the 64 KiB that a connection starts with: one slow upload would starve
    // the others (kubernetes#67902). The streams' own windows are what holds a client back.
    const window = streamWindow * maxConcurrentStreams;
    const maximumHeaderBytes = host.maximumHeaderBytes(isVerified);
    const limits = { maximumLines: maximumHeaderLines, maximumSize: maximumHeaderBytes };
    this.#receiver = new SessionReceiver(this, { peer: 'client', window, limits, rules: clientFrameRules });
    this.#reader = new FrameReader(this.#receiver);
    this.output.write(
      serverSettings({
        maxConcurrentStreams,
        initialWindowSize: streamWindow,
        maxHeaderListSize: maximumHeaderBytes,
      }),
    );
    this.output.windowUpdate(0, window - initialConnectionWindow);
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    // Whoever ends its side has no answer to wait for; Go's server ends the connection as well.
    socket.on('end', () => socket.destroy());
    // 'close' follows.
    socket.on('error', () => {});
    socket.on('close', () => this.#closed());
  }

  /** Takes no new requests; the connection ends behind those that are under way (RFC 9113 section 6.8). */
  close(): void {
    this.#sayGoAway(errorCode.noError);
    this.#endIfUnused();
  }

  /** Ends everything at once; but for a connection that ends already, and whose client is reading its last bytes. */
  destroy(): void {
    if (!this.#isEnding) this.socket.destroy();
  }

  giveUp(why: string): void {
    this.#failOn(connectionFault(errorCode.enhanceYourCalm, why));
  }

  writeWindowUpdate(streamId: number, increment: number): void {
    this.output.windowUpdate(streamId, increment);
  }

  contentReceived(content: RequestContent): void {
    if (this.#received.at(-1) !== content) this.#received.push(content);
  }

  streamClosed(stream: ServerStream): void {
    this.#streams.delete(stream.id);
    if (!stream.isReceived) this.#givenUp.add(stream.id, stream.receiveWindow);
    if (this.#goAwaySent || this.#clientLeaves) this.#endIfUnused();
  }

  clientFaulted(): void {
    this.#conduct.count('resets');
  }

  answeredEarly({ id }: ServerStream): void {
    setTimeout(() => {
      if (!this.#isEnding) this.output.reset(id, errorCode.noError);
    }, stopMilliseconds).unref();
  }

  streamOf(streamId: number): ServerStream | undefined {
    return this.#streams.get(streamId);
  }

  stateOf(streamId: number): Exclude<StreamState, 'connection' | 'open' | 'half-closed'> {
    // Even ones are ours to open, and we open none.
    if (streamId % 2 === 0) return 'idle';
    if (streamId > this.#lastStreamId) return this.#goAwaySent ? 'behind our GOAWAY' : 'idle';
    return this.#givenUp.has(streamId) ? 'closed by us' : 'closed';
  }

  headersReceived(headers: ReceivedHeaders, stream: ServerStream | undefined): void {
    const { streamId } = headers;
    if (stream !== undefined) {
      onStream(stream, (open) => open.receiveTrailers(headers.lines, headers.endStream));
      return;
    }
    this.#opened(streamId);
    try {
      this.#open(headers);
    } catch (error) {
      if (!(error instanceof Http2Error) || error.scope !== 'stream') throw error;
      if (!headers.endStream) this.#givenUp.add(streamId, streamWindow);
      this.refuseStream(streamId, error.errorCode);
    }
  }

  count(budget: Budget): void {
    this.#conduct.count(budget);
  }

  lateDataReceived(streamId: number, bytes: number): void {
    this.#givenUp.receive(streamId, bytes);
  }

  refuseStream(streamId: number, code: number): void {
    if (streamId > this.#lastStreamId) this.#opened(streamId);
    this.output.reset(streamId, code);
    this.clientFaulted();
  }

  settingsReceived(settings: Settings, before: Settings): void {
    const wider = settings.initialWindowSize - before.initialWindowSize;
    if (wider !== 0) for (const stream of this.#streams.all()) widen(stream.sendWindow, wider);
    this.output.write(frameHead(0, frameType.settings, frameFlag.ack, 0));
    if (wider > 0) this.#hasWidened = true;
  }

  pingReceived(payload: string): void {
    this.output.write(frameHead(8, frameType.ping, frameFlag.ack, 0) + payload);
  }

  goAwayReceived(): void {
    this.#clientLeaves = true;
    this.#endIfUnused();
  }

  connectionWindowWidened(increment: number): void {
    widen(this.output.sendWindow, increment);
    this.#hasWidened = true;
  }

  /** @throws {Http2Error} RFC 9113 section 5.1.1 */
  #opened(streamId: number): void {
    if (streamId % 2 === 0) throw connectionFault(errorCode.protocolError, 'a client has odd identifiers');
    this.#lastStreamId = streamId;
  }

  #open({ streamId, lines, endStream, exceedLimits }: ReceivedHeaders): void {
    if (this.#streams.size >= this.#host.limits.maxConcurrentStreams) {
      this.#conduct.refused();
      if (!endStream) this.#givenUp.add(streamId, streamWindow);
      this.output.reset(streamId, errorCode.refusedStream);
      return;
    }
    if (exceedLimits) {
      this.#refuseHead(streamId, lines, endStream);
      return;
    }
    const head = parseRequestHead(lines);
    // RFC 9113 section 8.1.1.
    if (endStream && (head.contentLength ?? 0) > 0) throw malformedRequest('it is shorter than it says');
    const stream = this.#newStream(streamId, endStream, head.contentLength);
    this.#conduct.requested();
    this.#host.requested(this, stream, head);
  }

  /** 431 (RFC 9113 section 10.5.1): what its client has to mend it can read. */
  #refuseHead(streamId: number, lines: readonly string[], endStream: boolean): void {
    // It took as much to read as a good one, and was in vain.
    this.#conduct.count('resets');
    const place = lines.indexOf(':method');
    const method = place === -1 ? 'GET' : (lines[place + 1] as string);
    this.#host.headTooLarge(this, this.#newStream(streamId, endStream, undefined), method);
  }

  #newStream(id: number, endStream: boolean, contentLength: number | undefined): ServerStream {
    const stream = new ServerStream({
      id,
      connection: this,
      contentLength,
      endStream,
      receiveWindow: streamWindow,
      sendWindow: (this.#receiver.settings ?? initialSettings).initialWindowSize,
    });
    this.#streams.add(stream);
    return stream;
  }

  #read(bytes: Buffer): void {
    try {
      this.#reader.receive(this.#preface.behind(bytes));
      const received = this.#received;
      if (received.length > 0) {
        this.#received = [];
        for (const content of received) if (content.deliver()) this.#conduct.count('small data');
      }
      if (this.#hasWidened) {
        this.#hasWidened = false;
        this.output.proceed();
      }
      this.#conduct.leftUnread(this.output.unread, this.output.unreadContent);
      this.#accountForUnfinished();
    } catch (error) {
      this.#failOn(error);
    }
  }

  /** What is held until more comes: mostly nothing. */
  #accountForUnfinished(): void {
    const frame = this.#reader.unfinished;
    const unfinished = this.#receiver.unfinishedBlock ?? frame;
    if (unfinished === undefined) {
      if (this.#unfinished !== undefined) this.#unfinishedHeads.release(this);
    } else {
      const bytes = this.#receiver.heldBytes + (frame?.length ?? 0);
      this.#unfinishedHeads.hold(this, bytes, unfinished !== this.#unfinished);
    }
    this.#unfinished = unfinished;
  }

  #sayGoAway(code: number): void {
    if (this.#goAwaySent || this.#isEnding) return;
    this.#goAwaySent = true;
    this.output.goAway(this.#lastStreamId, code);
  }

  #endIfUnused(): void {
    if (this.#streams.size === 0) this.#end('answers');
  }

  /** The client has broken the protocol, or our patience, or we have failed: nothing on the connection can be relied on. */
  #failOn(error: unknown): void {
    const isClients = error instanceof Http2Error;
    if (!isClients) this.#host.failed(error);
    this.#sayGoAway(isClients ? error.errorCode : errorCode.internalError);
    this.#end('failure');
    this.#abandonStreams();
  }

  #end(behind: keyof typeof patience): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    // What comes from now on could not be answered any more, so that it must not be carried out either.
    this.#reader.stop();
    this.#receiver.dropUnfinishedBlock();
    this.#unfinishedHeads.release(this);
    this.output.flush();
    endInPeace(this.socket, patience[behind]);
  }

  #abandonStreams(): void {
    for (const stream of this.#streams.all()) {
      try {
        stream.abandon();
      } catch (error) {
        // The others have to be told all the same.
        this.#host.failed(error);
      }
    }
  }

  #closed(): void {
    this.#isEnding = true;
    this.#reader.stop();
    this.#receiver.stop();
    this.#unfinishedHeads.release(this);
    this.#abandonStreams();
    this.#host.closed(this);
  }
}

/** @throws {Http2Error} RFC 9113 section 6.9.1 */
function widen(window: SendWindow, bytes: number): void {
  if (!window.widen(bytes)) throw connectionFault(errorCode.flowControlError, 'a window becomes too large');
}
