/** What one check of `doctor` has found. */
export interface Finding {
  /** What was looked at, such as `serving certificate` or `server cp-a`. */
  readonly check: string;
  readonly result: 'ok' | 'warning' | 'failed';
  /** What is so, and for anything but `ok` what to do about it. */
  readonly message: string;
  /** What the message is about, where that is more than a sentence holds. */
  readonly resources?: readonly string[];
  /** Lines for a shell that mend it, where there are some. */
  readonly commands?: readonly string[];
}

/** 0: all is well; 1: somebody should see to something; 2: something does not work. */
export function exitCodeOf(findings: readonly Finding[]): 0 | 1 | 2 {
  if (findings.some(({ result }) => result === 'failed')) return 2;
  return findings.some(({ result }) => result === 'warning') ? 1 : 0;
}
