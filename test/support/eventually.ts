/** Waits for a condition that other work brings about. Fails after ten seconds, far longer than any takes. */
export async function eventually(condition: () => boolean): Promise<void> {
  const giveUpAt = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > giveUpAt) throw new Error(`never came true: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
