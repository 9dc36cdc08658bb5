import { type StatusReason, statusResponse } from '../../apimachinery/status.ts';
import type { ByteCount } from '../../runtime/bytes.ts';
import { monotonicNow, pause, withDeadline } from '../../runtime/time.ts';
import { sealedSnapshotLimit } from '../format/limits.ts';
import { SnapshotError, type SnapshotErrorCode } from '../format/snapshot-error.ts';
import { longestHeader } from '../signing/open-sealed.ts';
import type { PushTarget } from './snapshot-endpoint.ts';

/** The cause, in the Status of a refusal, whose message is the generation that the router holds. */
export const heldGenerationCause = 'HeldGeneration';

/** A request that pushes a snapshot. */
export interface Push {
  readonly body: ReadableStream<Uint8Array> | null;
  /** Pushes of one queue are read one after the other. */
  readonly queue: string;
  readonly held?: ByteCount | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Milliseconds for the header of a snapshot, for its turn, and for the rest: a sync job gives up after ten seconds. */
const longest = { header: 3_000, wait: 5_000, rest: 5_000 };
/** Milliseconds between two looks of who waits. */
const lookEvery = 10;
/** Pushes of one queue, the one that is being read among them. */
const maximumInQueue = 8;
/** Milliseconds. On Workers a request that is cancelled ends nothing: its turn is over then. */
const longestTurn = 30_000;

interface Turn {
  readonly until: number;
}

/**
 * Takes pushed snapshots, each of which may have megabytes. What names no pinned key is refused by its header alone. The rest
 * of a body is read when those before it in its queue have been taken: of each queue one is in memory.
 *
 * No promise is shared between requests, as on Workers it belongs to the request that made it
 * (decisions/0008-worker-modules.md): whoever waits looks by timers of their own.
 */
export class SnapshotPushes {
  readonly #receiver: PushTarget;
  readonly #queues = new Map<string, Turn[]>();

  constructor(receiver: PushTarget) {
    this.#receiver = receiver;
  }

  async take(push: Push): Promise<Response> {
    const body = new PushedText(push);
    try {
      await body.readHeader();
      this.#admit(body.text.trimStart());
      return await this.#inTurn(push, async () => {
        await body.readRest();
        const { createdAt, ...rest } = await this.#receiver.accept(body.text.trim());
        return Response.json({ ...rest, createdAt: new Date(createdAt).toISOString() });
      });
    } catch (error) {
      if (error instanceof UnreadError) return error.response;
      if (!(error instanceof SnapshotError)) throw error;
      return refused(error, error.code === 'NotNewer' ? this.#receiver.current()?.generation : undefined);
    } finally {
      body.end();
    }
  }

  #admit(beginning: string): void {
    try {
      this.#receiver.admit(beginning);
    } catch (error) {
      this.#receiver.tellOfRefusal(error);
      throw error;
    }
  }

  async #inTurn<Result>({ queue, signal }: Push, work: () => Promise<Result>): Promise<Result> {
    const now = monotonicNow;
    const turns = this.#queues.get(queue) ?? [];
    this.#queues.set(queue, turns);
    const begun = now();
    const turn = { until: begun + longestTurn };
    const others = turns.filter(({ until }) => now() < until);
    turns.splice(0, turns.length, ...others, turn);
    try {
      if (others.length >= maximumInQueue) throw tooMany();
      while (turns.find(({ until }) => now() < until) !== turn) {
        if (signal?.aborted === true || now() - begun > longest.wait) throw tooMany();
        await pause(lookEvery);
      }
      return await work();
    } finally {
      const place = turns.indexOf(turn);
      if (place !== -1) turns.splice(place, 1);
    }
  }
}

/** The text of a pushed snapshot as far as it has been read, counted for who has sent it. */
class PushedText {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #decoder = new TextDecoder();
  readonly #held: ByteCount | undefined;
  readonly #signal: AbortSignal | undefined;
  #isWhole: boolean;
  #bytes = 0;
  #isOver = false;
  text = '';

  constructor({ body, held, signal }: Push) {
    this.#reader = body?.getReader();
    this.#isWhole = body === null;
    this.#held = held;
    this.#signal = signal;
  }

  readHeader(): Promise<void> {
    return this.#read(longest.header, () => this.text.includes('.') || this.text.length > longestHeader);
  }

  async readRest(): Promise<void> {
    await this.#read(longest.rest, () => this.#bytes > sealedSnapshotLimit);
    if (this.#isWhole) return;
    throw new UnreadError('RequestEntityTooLarge', `more than ${sealedSnapshotLimit} bytes were sent`);
  }

  async #read(milliseconds: number, isEnough: () => boolean): Promise<void> {
    const late = (): Error => new UnreadError('Timeout', `it has not arrived within ${milliseconds} ms`);
    try {
      await withDeadline(milliseconds, this.#signal, late, async () => {
        while (!this.#isWhole && !isEnough()) await this.#readPiece();
      });
    } catch (error) {
      throw error instanceof UnreadError ? error : new UnreadError('BadRequest', 'it was broken off');
    }
  }

  async #readPiece(): Promise<void> {
    const piece = await this.#reader?.read();
    // A deadline does not end a read.
    if (this.#isOver) throw new UnreadError('Timeout', 'its time is over');
    this.#isWhole = piece?.value === undefined;
    this.text += this.#decoder.decode(piece?.value, { stream: !this.#isWhole });
    this.#add(piece?.value?.byteLength ?? 0);
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    this.#held?.add(bytes);
  }

  /** Bytes that are unread stay so. */
  end(): void {
    this.#isOver = true;
    this.#add(-this.#bytes);
    if (!this.#isWhole) this.#reader?.cancel().catch(() => {});
  }
}

/** A snapshot that has not been read whole. */
class UnreadError extends Error {
  readonly response: Response;

  constructor(reason: StatusReason, text: string, retryAfterSeconds?: number) {
    const message = `The snapshot was not read: ${text}.`;
    super(message);
    this.response = statusResponse(
      reason,
      message,
      retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
    );
  }
}

function tooMany(): UnreadError {
  return new UnreadError('TooManyRequests', 'others are being taken, please try again', 1);
}

/** The `metav1.Status` reason, and with it the HTTP code (401, 413, 422, 409, 405), that a pusher gets. */
const snapshotErrorReason: Readonly<Record<SnapshotErrorCode, StatusReason>> = {
  Unsigned: 'Unauthorized',
  UnknownKey: 'Unauthorized',
  BadSignature: 'Unauthorized',
  TooLarge: 'RequestEntityTooLarge',
  Invalid: 'Invalid',
  NotNewer: 'Conflict',
  OtherCluster: 'Conflict',
  GenerationAhead: 'Conflict',
  ReadsClusterItself: 'MethodNotAllowed',
};

function refused(error: SnapshotError, heldGeneration: number | undefined): Response {
  return statusResponse(snapshotErrorReason[error.code], error.message, {
    causes: [
      { reason: error.code, message: error.message },
      // So that a sync job without state knows the generation to continue from.
      ...(heldGeneration === undefined
        ? []
        : [{ reason: heldGenerationCause, message: String(heldGeneration), field: 'metadata.generation' }]),
      ...error.issues.map(({ path, message }) => ({ reason: 'FieldValueInvalid', message, field: path })),
    ],
  });
}
