import type { SendWindow } from './flow-window.ts';
import type { Budget, StreamState } from './frame-rules.ts';
import type { ReceivedHeaders } from './header-assembly.ts';
import type { Settings } from './settings.ts';

/** What frames do to a stream, on either side. Methods throw {Http2Error} of scope `stream`. */
export interface ReceivingStream {
  /** The connection has no more to do with it. */
  readonly isClosed: boolean;
  /** The other side has ended its message. */
  readonly isReceived: boolean;
  readonly sendWindow: SendWindow;
  /** Gives it up: RST_STREAM. */
  reset(code: number, error: Error): void;
  /** RST_STREAM was received. */
  resetByPeer(code: number): void;
  /** @param bytes of a DATA frame, padding and all */
  receiveDataHead(bytes: number): void;
  /** @param piece lent */
  receiveData(piece: Uint8Array): void;
  /** Padding: nobody reads it. @param bytes of it */
  dropPadding(bytes: number): void;
  /** END_STREAM was received behind data. */
  receiveEnd(): void;
  /** More may be sent on it. */
  windowWidened(): void;
}

/** What frames do to a session. */
export interface ReceivingSession<Stream extends ReceivingStream> {
  /** @returns `undefined` for one that is not open */
  streamOf(streamId: number): Stream | undefined;
  /** Of one that is not open. @param streamId not 0 */
  stateOf(streamId: number): Exclude<StreamState, 'connection' | 'open' | 'half-closed'>;
  /**
   * A block of header lines is here, whole, that opens a stream or goes on with one that is open.
   * @throws {Http2Error} of scope `connection`
   */
  headersReceived(headers: ReceivedHeaders, stream: Stream | undefined): void;
  /** One more of what the rules count. @throws {Http2Error} of scope `connection` when it is too much */
  count(budget: Budget): void;
  /** Ends a stream that is not open: RST_STREAM. @throws {Http2Error} of scope `connection` */
  refuseStream(streamId: number, code: number): void;
  /** DATA came on a stream that we have given up. @param bytes of it, padding and all */
  lateDataReceived?(streamId: number, bytes: number): void;
  writeWindowUpdate(streamId: number, increment: number): void;
  /** The other side's settings are here, or have changed; they are to be acknowledged. @throws {Http2Error} */
  settingsReceived(settings: Settings, before: Settings): void;
  /** @param payload eight bytes as a byte string, which the answer carries back */
  pingReceived(payload: string): void;
  /** @param lastProcessed the identifier of the last stream that the other side (may have) processed */
  goAwayReceived(lastProcessed: number, code: number): void;
  /** More may be sent on all streams together. @throws {Http2Error} */
  connectionWindowWidened(increment: number): void;
}
