/**
 * What is counted, each by one client's request or event:
 *
 * - `wrongNotFound`: a 404 for a resource that a server served all the while, or for an object that is there
 * - `readServerErrors`, `writeServerErrors`: a response with 5xx though a server served the resource all the while,
 *   whether or not the client asked again
 * - `refusedWithoutServer`: a response with 5xx when there was no server that could have answered
 * - `failedReads`: no response in the end, after all that client-go would try
 * - `unknownWrites`: a write whose answer never came; it may have been made, and no client sends it again
 * - `discoveryErrors`: a discovery document that is refused though a server serves what it lists, or that lacks
 *   what a server has served for some seconds
 * - `failedExecs`: an exec that did not begin, or began and did not echo
 * - `brokenReads`: connections that broke under a read that was then asked again (client-go does)
 * - `brokenWatches`: watches that ended in any way but the ordinary one
 */
const findingNames = [
  'wrongNotFound',
  'readServerErrors',
  'writeServerErrors',
  'refusedWithoutServer',
  'failedReads',
  'unknownWrites',
  'discoveryErrors',
  'failedExecs',
  'brokenReads',
  'brokenWatches',
] as const;

export type FindingName = (typeof findingNames)[number];

export interface Finding {
  readonly name: FindingName;
  /** Milliseconds of `performance`. */
  readonly at: number;
  readonly detail: string;
}

/** How many details of each kind are kept. */
const keptDetails = 2_000;

/** Takes down what went wrong, and how much was asked for. */
export class Findings {
  readonly #found: Finding[] = [];
  readonly #counts = new Map<FindingName, number>();
  #requests = 0;

  get requests(): number {
    return this.#requests;
  }

  get all(): readonly Finding[] {
    return this.#found;
  }

  asked(): void {
    this.#requests += 1;
  }

  add(name: FindingName, detail: string): void {
    const count = this.count(name) + 1;
    this.#counts.set(name, count);
    if (count <= keptDetails) this.#found.push({ name, at: performance.now(), detail });
  }

  count(name: FindingName): number {
    return this.#counts.get(name) ?? 0;
  }

  counts(): Record<FindingName, number> {
    const zero = Object.fromEntries(findingNames.map((name) => [name, 0])) as Record<FindingName, number>;
    return Object.assign(zero, Object.fromEntries(this.#counts));
  }
}
