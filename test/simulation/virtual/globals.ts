/**
 * Replaces what a program learns time and chance from, and what leaves its thread. While no run is on, all of it does what it
 * always does. Import it before the program.
 */
import { createHash, createPublicKey, KeyObject, sign, verify, type webcrypto } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import {
  RealCompressionStream,
  RealDate,
  realAbortTimeout,
  realClearImmediate,
  realClearInterval,
  realClearTimeout,
  realDateNow,
  realGetRandomValues,
  realMonotonic,
  realRandom,
  realRandomUuid,
  realSetImmediate,
  realSetInterval,
  realSetTimeout,
  realSubtle,
} from './real.ts';
import { activeRun, currentMachine, type VirtualEvent, type VirtualRun } from './virtual-time.ts';

type Callback = (...args: unknown[]) => void;

/** As Node's: at least a millisecond, whole milliseconds. Else `while (left > 0) await sleep(left)` would stand still. */
class VirtualTimer {
  readonly #run: VirtualRun;
  readonly #callback: () => void;
  readonly #milliseconds: number;
  readonly #repeats: boolean;
  #event: VirtualEvent;

  constructor(run: VirtualRun, callback: () => void, milliseconds: unknown, repeats: boolean) {
    this.#run = run;
    this.#callback = callback;
    this.#milliseconds = Math.max(1, Math.trunc(Number(milliseconds)) || 1);
    this.#repeats = repeats;
    this.#event = this.#next();
  }

  #next(): VirtualEvent {
    return this.#run.after(this.#milliseconds, () => {
      if (this.#repeats) this.#event = this.#next();
      this.#callback();
    });
  }

  close(): this {
    this.#event.isOff = true;
    return this;
  }

  refresh(): this {
    this.#event.isOff = true;
    this.#event = this.#next();
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.toPrimitive](): number {
    return this.#event.order;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function clearing(real: (timer: never) => void) {
  return (timer: unknown): void => {
    if (timer instanceof VirtualTimer) timer.close();
    else real(timer as never);
  };
}

function define(target: object, members: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(members))
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
}

const starting =
  (real: (callback: Callback, milliseconds?: number, ...args: unknown[]) => unknown, repeats: boolean) =>
  (callback: Callback, milliseconds?: number, ...args: unknown[]) => {
    const run = activeRun();
    return run === undefined
      ? real(callback, milliseconds, ...args)
      : new VirtualTimer(run, () => callback(...args), milliseconds, repeats);
  };

define(globalThis, {
  setTimeout: starting(realSetTimeout, false),
  setInterval: starting(realSetInterval, true),
  setImmediate: (callback: Callback, ...args: unknown[]) => {
    const run = activeRun();
    if (run === undefined) return realSetImmediate(callback, ...args);
    run.after(0, () => callback(...args));
    return undefined;
  },
  clearTimeout: clearing(realClearTimeout),
  clearInterval: clearing(realClearInterval),
  clearImmediate: clearing(realClearImmediate),
  Date: new Proxy(RealDate, {
    construct(target, args, newTarget) {
      const run = activeRun();
      const given = args.length === 0 && run !== undefined ? [run.wallClock()] : args;
      return Reflect.construct(target, given, newTarget);
    },
  }),
});
RealDate.now = () => activeRun()?.wallClock() ?? realDateNow();

const random = (): number => {
  const run = activeRun();
  return run === undefined ? realRandom() : run.draws.next(`${currentMachine()?.name ?? 'world'}/program`);
};

function fill<Bytes extends ArrayBufferView>(view: Bytes): Bytes {
  if (activeRun() === undefined) return realGetRandomValues(view as never);
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  for (let index = 0; index < bytes.length; index++) bytes[index] = random() * 256;
  return view;
}

function randomUuid(): string {
  if (activeRun() === undefined) return realRandomUuid();
  const hex = Buffer.from(fill(new Uint8Array(16))).toString('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`];
  return [...parts, hex.slice(20)].join('-');
}

define(Math, { random });
define(crypto, { getRandomValues: fill, randomUUID: randomUuid });
define(performance, {
  now: () => {
    const run = activeRun();
    return run === undefined ? realMonotonic() : 1000 + run.now;
  },
});

/** Node's own has a timer that no global reaches. */
define(AbortSignal, {
  timeout(milliseconds: number) {
    if (activeRun() === undefined) return realAbortTimeout.call(AbortSignal, milliseconds);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new DOMException('The time is over', 'TimeoutError')), milliseconds);
    return controller.signal;
  },
});

const bufferOf = ({ buffer, byteOffset, byteLength }: Buffer) =>
  buffer.slice(byteOffset, byteOffset + byteLength);

/** Web Crypto's functions that the program uses, without its thread pool. */
const subtle: Partial<SubtleCrypto> = {
  async digest(algorithm, data) {
    const name = (typeof algorithm === 'string' ? algorithm : algorithm.name).toLowerCase().replace('-', '');
    const bytes = ArrayBuffer.isView(data)
      ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      : new Uint8Array(data);
    return bufferOf(createHash(name).update(bytes).digest()) as ArrayBuffer;
  },
  async sign(_algorithm, key, data) {
    return bufferOf(sign(null, data as Uint8Array, KeyObject.from(key))) as ArrayBuffer;
  },
  async verify(_algorithm, key, signature, data) {
    return verify(null, data as Uint8Array, KeyObject.from(key), signature as Uint8Array);
  },
  importKey: (async (
    format: string,
    key: webcrypto.JsonWebKey,
    algorithm: never,
    extractable: boolean,
    usages: never,
  ) => {
    if (format !== 'jwk' || key.d !== undefined)
      return realSubtle.importKey(format as never, key as never, algorithm, extractable, usages);
    return createPublicKey({ key, format: 'jwk' }).toCryptoKey(algorithm, extractable, usages);
  }) as never,
};
define(crypto, {
  subtle: new Proxy(realSubtle, {
    get(target, name) {
      const own = activeRun() === undefined ? undefined : Reflect.get(subtle, name);
      const found: unknown = own ?? Reflect.get(target, name);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  }),
});

/** Without zlib's thread. */
class SynchronousGzip extends TransformStream<Uint8Array, Uint8Array> {
  constructor() {
    const pieces: Uint8Array[] = [];
    super({
      transform: (piece) => void pieces.push(piece),
      flush: (controller) => controller.enqueue(gzipSync(Buffer.concat(pieces), { level: 1 })),
    });
  }
}
define(globalThis, {
  CompressionStream: new Proxy(RealCompressionStream, {
    construct: (target, args) =>
      activeRun() === undefined ? Reflect.construct(target, args) : new SynchronousGzip(),
  }),
});
