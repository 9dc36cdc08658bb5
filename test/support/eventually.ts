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
  while (!(await condition())) {
    if (Date.now() > giveUpAt) throw new Error(`never came true: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
