import type { TLSSocket } from 'node:tls';
import type { SendWindow } from '../frames/flow-window.ts';
import { errorCode, frameFlag, frameHead, frameType, initialConnectionWindow } from '../frames/frame.ts';
import { FrameReader } from '../frames/frame-reader.ts';
import type { Budget, StreamState } from '../frames/frame-rules.ts';
import type { ReceivedHeaders } from '../frames/header-assembly.ts';
import { connectionFault, Http2Error, malformedRequest } from '../frames/http2-error.ts';
import type { ReceivingSession } from '../frames/receiving-session.ts';
import { onStream, SessionReceiver } from '../frames/session-receiver.ts';
import { initialSettings, type Settings, serverSettings } from '../frames/settings.ts';
import { ClientConduct } from './client-conduct.ts';
import { clientFrameRules } from './client-frame-rules.ts';
import { ClientStreams } from './client-streams.ts';
import { endInPeace } from './end-in-peace.ts';
import { Preface } from './preface.ts';
import type { RequestContent } from './request-content.ts';
import { parseRequestHead, type RequestHead, unreadHead } from './request-head.ts';
import { ServerOutput } from './server-output.ts';
import type { ServerSessionHost } from './server-session-host.ts';
import { ServerStream, type StreamConnection } from './server-stream.ts';
import type { UnfinishedHead, UnfinishedHeads } from './unfinished-heads.ts';

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
  readonly #streams: ClientStreams;
  readonly #unfinishedHeads: UnfinishedHeads;
  /** The block, or the frame, that was unfinished when the last bytes had been read. */
  #unfinished: object | undefined;
  /** Looks in a row that have found no request under way. */
  #idleLooks = 0;
  #clientLeaves = false;
  #isEnding = false;
  /** More may be sent: looked at once for all frames that came together, for a client may send many that widen a little. */
  #hasWidened = false;
  /** Content that came in the read that is being dealt with. */
  #received: RequestContent[] = [];

  constructor(socket: TLSSocket, host: ServerSessionHost) {
    this.socket = socket;
    this.#host = host;
    const { maxConcurrentStreams, maxSessionRejectedStreams, maximumHeaderLines, streamWindow } = host.limits;
    const isVerified = host.isVerified(socket);
    this.#streams = new ClientStreams(streamWindow);
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
    const settings = { maxConcurrentStreams, initialWindowSize: streamWindow };
    this.output.write(serverSettings({ ...settings, maxHeaderListSize: maximumHeaderBytes }));
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

  /** Looks whether it is used. @returns looks in a row that have found no request, nor the end of one since the last */
  look(): number {
    this.#idleLooks = this.#streams.size > 0 ? 0 : this.#idleLooks + 1;
    return this.#idleLooks;
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
    this.#streams.closed(stream);
    this.#idleLooks = 0;
    if (this.#streams.isGoAwaySent || this.#clientLeaves) this.#endIfUnused();
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
    return this.#streams.stateOf(streamId);
  }

  headersReceived(headers: ReceivedHeaders, stream: ServerStream | undefined): void {
    const { streamId } = headers;
    if (stream !== undefined) {
      onStream(stream, (open) => open.receiveTrailers(headers.lines, headers.endStream));
      return;
    }
    this.#streams.opened(streamId);
    try {
      this.#open(headers);
    } catch (error) {
      if (!(error instanceof Http2Error) || error.scope !== 'stream') throw error;
      this.#streams.refused(streamId, headers.endStream);
      this.refuseStream(streamId, error.errorCode);
    }
  }

  count(budget: Budget): void {
    this.#conduct.count(budget);
  }

  lateDataReceived(streamId: number, bytes: number): void {
    this.#streams.lateData(streamId, bytes);
  }

  refuseStream(streamId: number, code: number): void {
    if (streamId > this.#streams.lastId) this.#streams.opened(streamId);
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

  #open({ streamId, lines, endStream, exceedLimits }: ReceivedHeaders): void {
    if (this.#streams.size >= this.#host.limits.maxConcurrentStreams) {
      this.#conduct.refused();
      this.#streams.refused(streamId, endStream);
      this.output.reset(streamId, errorCode.refusedStream);
      return;
    }
    if (exceedLimits) {
      // It took as much to read as a good one, and was in vain.
      this.#conduct.count('resets');
      this.#host.headTooLarge(this, this.#newStream(streamId, endStream, unreadHead(lines)));
      return;
    }
    const head = parseRequestHead(lines);
    // RFC 9113 section 8.1.1.
    if (endStream && (head.contentLength ?? 0) > 0) throw malformedRequest('it is shorter than it says');
    const stream = this.#newStream(streamId, endStream, head);
    this.#conduct.requested();
    this.#host.requested(this, stream);
  }

  #newStream(id: number, endStream: boolean, head: RequestHead): ServerStream {
    const stream = new ServerStream({
      id,
      connection: this,
      head,
      endStream,
      receiveWindow: this.#host.limits.streamWindow,
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
    if (this.#streams.isGoAwaySent || this.#isEnding) return;
    this.#streams.isGoAwaySent = true;
    this.output.goAway(this.#streams.lastId, code);
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
    this.#streams.abandon((error) => this.#host.failed(error));
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
