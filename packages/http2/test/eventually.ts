/**
 * Waits for a condition that other work brings about.
 *
 * @param within milliseconds. Default: a minute, far longer than any takes, on a busy machine too
 * @throws when it has not come true by then
 */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  within = 60_000,
): Promise<void> {
  const giveUpAt = Date.now() + within;
  for (;;) {
    const askedAt = performance.now();
    if (await condition()) return;
    if (Date.now() > giveUpAt) throw new Error(`never came true: ${condition}`);
    await pauseAfter(askedAt);
  }
}

/** Before the next look: one that takes a request, and a TLS handshake for it, leaves the machine to what is waited for. */
export function pauseAfter(askedAt: number): Promise<void> {
  const pause = Math.min(50, Math.max(5, 4 * (performance.now() - askedAt)));
  return new Promise((resolve) => setTimeout(resolve, pause));
}
