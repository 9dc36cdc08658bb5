import type { AuditEvent, AuditSink } from '../../observe/audit/audit-event.ts';
import type { FailureLog } from '../../runtime/logger.ts';
import type { AuditOutput } from './audit-output.ts';

export interface AuditLogOptions {
  readonly output: AuditOutput;
  /** Buffered events at most. */
  readonly bufferSize: number;
  readonly failures: FailureLog;
  readonly onEvents: (result: 'written' | 'dropped', events: number) => void;
  /** Milliseconds between retries after a failed write. Default 1,000. */
  readonly retryInterval?: number;
}

/** Events in one write at most. */
const largestBatch = 1_000;

/** Time to write the last events when the router ends. */
const closeMilliseconds = 5_000;

/**
 * Writes events as lines of JSON in the background: they are buffered, and written together. While the disk is full they
 * stay in the buffer and are retried; events beyond the buffer are dropped and counted.
 */
export class AuditLog implements AuditSink {
  readonly #options: AuditLogOptions;
  #waiting: string[] = [];
  /** The lines that are being written, and how many of their bytes were. */
  #batch: Uint8Array = new Uint8Array();
  #batchWritten = 0;
  #batchEvents = 0;
  #writing: Promise<void> | undefined;
  #reopenAsked = false;
  #retry: { readonly timer: NodeJS.Timeout; readonly now: () => void } | undefined;
  #isClosing = false;
  #isClosed = false;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  write(event: AuditEvent): void {
    const { bufferSize, onEvents, failures } = this.#options;
    if (this.#isClosed || this.#waiting.length + this.#batchEvents >= bufferSize) {
      onEvents('dropped', 1);
      failures.warn('audit buffer', { bufferSize }, 'Audit events are lost: the buffer is full');
      return;
    }
    this.#waiting.push(`${JSON.stringify(event)}\n`);
    this.#writing ??= this.#writeAll();
  }

  /** Continues in a new file of the same name, after the old one was renamed. Resolves when that is done. */
  async reopen(): Promise<void> {
    this.#reopenAsked = true;
    this.#retry?.now();
    this.#writing ??= this.#writeAll();
    await this.#writing;
  }

  /** Writes the buffered events: one last try, for a few seconds at most. Never rejects. */
  async close(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const deadline = setTimeout(resolve, closeMilliseconds);
    this.#isClosing = true;
    this.#retry?.now();
    await Promise.race([this.#writing, late]);
    clearTimeout(deadline);
    this.#isClosed = true;
    this.#retry?.now();
    const { output, onEvents, failures } = this.#options;
    const lost = this.#waiting.length + this.#batchEvents;
    if (lost > 0) {
      onEvents('dropped', lost);
      failures.warn('audit end', { lost }, 'Audit events are lost: they could not be written before the end');
    }
    await output.close().catch((error: unknown) => this.#failed(error));
  }

  async #writeAll(): Promise<void> {
    // Events of one turn of the event loop are written together.
    await new Promise((resolve) => setImmediate(resolve));
    while (!this.#isClosed && (this.#reopenAsked || this.#batchEvents > 0 || this.#waiting.length > 0)) {
      try {
        await this.#writeSome();
      } catch (error) {
        this.#failed(error);
        // On close there is only one last try.
        if (this.#isClosing) break;
        // Only `reopen` failed: the next line or signal tries again.
        if (this.#batchEvents === 0 && this.#waiting.length === 0) break;
        await this.#waitForRetry();
      }
    }
    this.#writing = undefined;
  }

  async #writeSome(): Promise<void> {
    const { output, onEvents } = this.#options;
    if (this.#reopenAsked) await this.#reopen();
    if (this.#batchEvents === 0) {
      if (this.#waiting.length === 0) return;
      const lines = this.#waiting.slice(0, largestBatch);
      const bytes = Buffer.from(lines.join(''));
      await output.prepare(bytes.length);
      this.#waiting = this.#waiting.slice(lines.length);
      this.#batch = bytes;
      this.#batchWritten = 0;
      this.#batchEvents = lines.length;
    }
    // A disk that becomes full may take a part of a line: the rest must follow in the same file.
    this.#batchWritten += await output.write(this.#batch.subarray(this.#batchWritten));
    if (this.#batchWritten < this.#batch.length) return;
    onEvents('written', this.#batchEvents);
    this.#batchEvents = 0;
  }

  /** Lines that the old file has only in part are written again: its disk may stay full. */
  async #reopen(): Promise<void> {
    const { isEmpty } = await this.#options.output.reopen();
    this.#reopenAsked = false;
    const isBroken = this.#batchWritten > 0 && this.#batchEvents > 0;
    if (isBroken && !isEmpty) this.#batch = Buffer.concat([Buffer.from('\n'), this.#batch]);
    this.#batchWritten = 0;
  }

  #failed(error: unknown): void {
    this.#options.failures.warn('audit output', { err: error }, 'The audit log cannot be written');
  }

  async #waitForRetry(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { retryInterval = 1_000 } = this.#options;
    this.#retry = { timer: setTimeout(resolve, retryInterval), now: resolve };
    await promise;
    clearTimeout(this.#retry.timer);
    this.#retry = undefined;
  }
}
