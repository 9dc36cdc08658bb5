import type { SendWindow } from './flow-window.ts';
import type { Budget, ClosedState } from './frame-rules.ts';
import type { ReceivedHeaders } from './header-assembly.ts';
import { Http2Error } from './http2-error.ts';

/** Receives the frames of one stream, on either side. Methods throw {Http2Error} of scope `stream`. */
export interface ReceivingStream {
  readonly id: number;
  readonly isClosed: boolean;
  /** The peer has ended its message. */
  readonly isReceived: boolean;
  readonly sendWindow: SendWindow;
  /** Sends RST_STREAM and closes it. */
  reset(code: number, error: Error): void;
  resetByPeer(code: number): void;
  /** @param bytes of a DATA frame, padding included */
  receiveDataHead(bytes: number): void;
  /** @param piece overwritten as soon as this returns */
  receiveData(piece: Uint8Array): void;
  /** Padding was received. */
  dropPadding(bytes: number): void;
  /** END_STREAM was received after content. */
  receiveEnd(): void;
  /** More may be sent. */
  windowWidened(): void;
}

/** What differs between the two sides of a connection. */
export interface ReceivingSession<Stream extends ReceivingStream> {
  /** The state of a stream that is not open. @param streamId not 0 */
  stateOf(streamId: number): ClosedState;
  /**
   * A header block was received. @param stream `undefined` if it opens a new one
   * @throws {Http2Error} of scope `connection`
   */
  headersReceived(headers: ReceivedHeaders, stream: Stream | undefined): void;
  /** Counts against a budget. @throws {Http2Error} of scope `connection` if it is exceeded */
  count(budget: Budget): void;
  /** Sends RST_STREAM for a stream that is not open. @throws {Http2Error} of scope `connection` */
  refuseStream(streamId: number, code: number): void;
  /** DATA arrived on a stream that we closed. @param bytes padding included */
  lateDataReceived?(streamId: number, bytes: number): void;
  /** The peer's settings were received and acknowledged. */
  settingsReceived?(): void;
  /** @param lastProcessed the last stream that the peer may have processed */
  goAwayReceived(lastProcessed: number, code: number): void;
}

/** A stream error resets only its own stream (RFC 9113 section 5.4.2). Does nothing on a closed stream. */
export function onStream<Stream extends ReceivingStream>(
  stream: Stream | undefined,
  act: (stream: Stream) => void,
): void {
  if (stream === undefined || stream.isClosed) return;
  try {
    act(stream);
  } catch (error) {
    if (!(error instanceof Http2Error) || error.scope !== 'stream') throw error;
    stream.reset(error.errorCode, error);
  }
}
