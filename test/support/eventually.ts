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
    // A condition that takes a request, and a TLS handshake for it, leaves most of the machine to what it waits for.
    const pause = Math.min(50, Math.max(5, 4 * (performance.now() - askedAt)));
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
