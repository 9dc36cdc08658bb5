/** Milliseconds between two checks. */
const checkInterval = 15_000;
/** Checks without a byte before the peer is pinged: at least 30 s, as Go's client does. */
const checksUntilQuiet = 2;
/** One more for the acknowledgement. */
const checksUntilDead = 3;

export interface SilenceListener {
  /** Bytes received since the connection was opened. */
  bytesRead(): number;
  /** Nothing was received for 30 to 45 seconds: ping the peer, or close the connection. */
  onQuiet(): void;
  /** Nothing was received for another 15 seconds. */
  onDead(): void;
}

/**
 * Detects a peer that is gone without closing the connection, after a power cut or by a firewall rule. Only received
 * bytes count (Go's `ReadIdleTimeout`). Node's session time-out also restarts with sent bytes: requests to a dead server
 * would keep the connection and its watches for as long as the kernel retransmits (15 minutes). It also resets a timer
 * with each event of a watch; this compares a counter.
 *
 * @returns stops it
 */
export function monitorSilence(listener: SilenceListener): () => void {
  let lastRead = listener.bytesRead();
  let quietChecks = 0;
  const timer = setInterval(() => {
    const read = listener.bytesRead();
    quietChecks = read === lastRead ? quietChecks + 1 : 0;
    lastRead = read;
    if (quietChecks === checksUntilQuiet) listener.onQuiet();
    else if (quietChecks >= checksUntilDead) listener.onDead();
  }, checkInterval);
  timer.unref();
  return () => clearInterval(timer);
}
