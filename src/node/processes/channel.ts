import * as v from 'valibot';

export type ChannelErrorCode =
  /** The other process gave no answer in time. */
  | 'Timeout'
  /** The other process has ended, or has closed the channel. */
  | 'Closed'
  /** The other process could not do what it was asked for. */
  | 'Refused'
  /** What came is no answer to what was asked. */
  | 'InvalidAnswer';

/** Why another process of the router did not answer. */
export class ChannelError extends Error {
  override readonly name = 'ChannelError';
  readonly code: ChannelErrorCode;
  constructor(code: ChannelErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const id = v.pipe(v.number(), v.safeInteger());

/** What goes from one process to another. Checked, though both are ours: what is not expected changes nothing. */
const messageSchema = v.variant('kind', [
  v.strictObject({ kind: v.literal('question'), id, question: v.unknown() }),
  v.strictObject({ kind: v.literal('answer'), id, answer: v.unknown() }),
  v.strictObject({ kind: v.literal('fault'), id, reason: v.string() }),
]);

export type ChannelMessage = v.InferOutput<typeof messageSchema>;

export interface ChannelOptions<Theirs> {
  /** Who is at the other end, for messages of errors. */
  readonly other: string;
  /** Sends a message, as JSON. Must not throw: a process that has ended is told by `close`. */
  readonly post: (message: ChannelMessage) => void;
  /** What the other end may ask. */
  readonly questions: v.GenericSchema<unknown, Theirs>;
  /** Must not resolve with `undefined`, which JSON does not know. */
  readonly answer: (question: Theirs) => Promise<unknown>;
  /** Told of messages that cannot be understood, which are dropped. */
  readonly onFault: (fault: string) => void;
}

interface Pending {
  readonly timer: NodeJS.Timeout;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: ChannelError) => void;
}

/** Questions and answers between two processes of the router, in both directions. */
export class Channel<Ours, Theirs> {
  readonly #options: ChannelOptions<Theirs>;
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #isClosed = false;

  constructor(options: ChannelOptions<Theirs>) {
    this.#options = options;
  }

  /**
   * @param timeout milliseconds that the answer may take
   * @throws {ChannelError}
   */
  async ask<Answer>(
    question: Ours,
    schema: v.GenericSchema<unknown, Answer>,
    timeout: number,
  ): Promise<Answer> {
    const { other } = this.#options;
    const answer = await this.#exchange(question, timeout);
    const parsed = v.safeParse(schema, answer);
    if (parsed.success) return parsed.output;
    throw new ChannelError('InvalidAnswer', `${other} gave an answer that cannot be read`);
  }

  /** A message of the other end. Never throws. */
  receive(message: unknown): void {
    const parsed = v.safeParse(messageSchema, message);
    if (!parsed.success) {
      this.#options.onFault('a message of another form');
      return;
    }
    const { output } = parsed;
    if (output.kind === 'question') {
      void this.#answer(output.id, output.question);
      return;
    }
    // Unknown: it came too late.
    const pending = this.#pending.get(output.id);
    if (pending === undefined) return;
    this.#pending.delete(output.id);
    clearTimeout(pending.timer);
    if (output.kind === 'answer') pending.resolve(output.answer);
    else pending.reject(new ChannelError('Refused', `${this.#options.other}: ${output.reason}`));
  }

  /** The other end is gone: nothing will be answered any more. */
  close(): void {
    this.#isClosed = true;
    for (const { timer, reject } of this.#pending.values()) {
      clearTimeout(timer);
      reject(this.#gone());
    }
    this.#pending.clear();
  }

  #exchange(question: Ours, timeout: number): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(this.#gone());
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const number = this.#nextId++;
    const timer = setTimeout(() => {
      this.#pending.delete(number);
      reject(new ChannelError('Timeout', `${this.#options.other} gave no answer within ${timeout} ms`));
    }, timeout);
    this.#pending.set(number, { timer, resolve, reject });
    this.#options.post({ kind: 'question', id: number, question });
    return promise;
  }

  async #answer(number: number, asked: unknown): Promise<void> {
    const { questions, answer, post, onFault } = this.#options;
    const parsed = v.safeParse(questions, asked);
    if (!parsed.success) {
      const [issue] = parsed.issues;
      onFault(`a question that cannot be read: ${v.getDotPath(issue) ?? ''} ${issue.message}`);
      post({ kind: 'fault', id: number, reason: 'the question cannot be read' });
      return;
    }
    try {
      post({ kind: 'answer', id: number, answer: await answer(parsed.output) });
    } catch (error) {
      post({ kind: 'fault', id: number, reason: error instanceof Error ? error.message : String(error) });
    }
  }

  #gone(): ChannelError {
    return new ChannelError('Closed', `${this.#options.other} has ended`);
  }
}
