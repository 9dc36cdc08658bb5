import type { Admission } from './replay-window.ts';

/**
 * Nonces that several verifiers take together, so that an assertion counts once among them all. Each keeps its own
 * window besides, which refuses most replays without a query.
 */
export interface SharedNonces {
  /**
   * @param issuer whose nonces are apart from those of others
   * @param deadline the Unix second from which on the nonce's bearer is refused for its age
   * @throws when it cannot be told: the bearer must not be believed then
   */
  take(issuer: string, nonce: string, deadline: number): Promise<Admission>;
}
