/** Milliseconds between two looks at what has come in. */
const lookInterval = 15_000;
/** Looks without a byte after which a connection is asked whether it still lives: 30 s at least, as Go's client. */
const looksUntilQuiet = 2;
/** One more for the answer. */
const looksUntilDead = 3;

export interface SilenceListener {
  /** Bytes that have come in since the connection was opened. */
  bytesRead(): number;
  /** Nothing has come in for 30 to 45 seconds: ask for a sign of life, or let the connection go. */
  onQuiet(): void;
  /** Nothing has come in for another 15 seconds. */
  onDead(): void;
}

/**
 * Notices that the other end of a connection has gone without a word: a power cut, a rule of a firewall. Only what
 * comes in counts (Go's `ReadIdleTimeout`). Node's own time-out of a session starts anew with what goes out, too, so
 * that requests that nobody gets any more would keep a dead connection, and the watches on it, for as long as the
 * kernel sends again (15 minutes). It also costs each event of a watch a timer; this looks at a counter.
 *
 * @returns stops it.
 */
export function noticeSilence(listener: SilenceListener): () => void {
  let lastRead = listener.bytesRead();
  let quietLooks = 0;
  const looks = setInterval(() => {
    const read = listener.bytesRead();
    quietLooks = read === lastRead ? quietLooks + 1 : 0;
    lastRead = read;
    if (quietLooks === looksUntilQuiet) listener.onQuiet();
    else if (quietLooks >= looksUntilDead) listener.onDead();
  }, lookInterval);
  looks.unref();
  return () => clearInterval(looks);
}
