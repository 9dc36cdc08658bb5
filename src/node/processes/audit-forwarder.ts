import type { AuditEvent } from '../../observe/audit/audit-event.ts';
import type { FailureLog } from '../../observe/failure-log.ts';
import type { AuditRecorder } from '../audit/audit-recorder.ts';

export interface AuditForwarderOptions {
  /** Hands lines over. Rejects when the supervisor does not take them. */
  readonly handOver: (lines: readonly string[]) => Promise<void>;
  /** Events that wait to be handed over at most. */
  readonly bufferSize: number;
  readonly failures: FailureLog;
  /** Told of events that are lost; those that are written are counted by the supervisor. */
  readonly onDropped: (events: number) => void;
}

/** Lines of one message at most. */
const largestBatch = 500;

/**
 * The audit log of one process among several: hands its lines to the supervisor, which alone writes, renames and deletes
 * files. Never in the way of a request: what cannot be handed over is counted and lost.
 */
export class AuditForwarder implements AuditRecorder {
  readonly #options: AuditForwarderOptions;
  #waiting: string[] = [];
  #sending: Promise<void> | undefined;
  #isClosing = false;

  constructor(options: AuditForwarderOptions) {
    this.#options = options;
  }

  write(event: AuditEvent): void {
    const { bufferSize, onDropped, failures } = this.#options;
    if (this.#waiting.length >= bufferSize) {
      onDropped(1);
      failures.warn('audit buffer', { bufferSize }, 'Audit events are lost: the buffer is full');
      return;
    }
    this.#waiting.push(`${JSON.stringify(event)}\n`);
    this.#sending ??= this.#sendAll();
  }

  /** The supervisor does that. */
  reopen(): Promise<void> {
    return Promise.resolve();
  }

  /** Resolves when what waits has been handed over, or is not taken. Never rejects. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    // What comes in the same turn goes out in the same message.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const lines = this.#waiting.slice(0, largestBatch);
      this.#waiting = this.#waiting.slice(lines.length);
      try {
        await this.#options.handOver(lines);
      } catch (error) {
        // One last try is all that an end waits for: each of them may take as long as the supervisor is given.
        const events = lines.length + (this.#isClosing ? this.#waiting.splice(0).length : 0);
        this.#options.onDropped(events);
        this.#options.failures.warn(
          'audit supervisor',
          { err: error, events },
          'Audit events are lost: the process that writes them does not take them',
        );
      }
    }
    this.#sending = undefined;
  }
}
