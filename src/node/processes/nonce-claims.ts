import { type Admission, ReplayWindow } from '../../identity/assertion/replay-window.ts';

/** As the window of one process (`AssertionVerifierOptions.replayCapacity`). */
const capacity = 131_072;

/** The nonces of assertions that any process has believed: each counts once among them all. */
export class NonceClaims {
  /** One for each issuer, so that one that floods stops nobody but itself. Processes ask for pinned issuers only. */
  readonly #windows = new Map<string, ReplayWindow>();
  readonly #clock: () => number;

  /** @param clock milliseconds since the epoch */
  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /** @param deadline the Unix second from which on the assertion is refused for its age */
  take(issuer: string, nonce: string, deadline: number): Admission {
    let window = this.#windows.get(issuer);
    if (window === undefined) {
      window = new ReplayWindow(capacity);
      this.#windows.set(issuer, window);
    }
    return window.take(nonce, deadline, Math.floor(this.#clock() / 1000));
  }
}
