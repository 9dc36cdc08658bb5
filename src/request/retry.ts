/** Share of requests that may be tried a second time; a struggling cluster must not get double load. */
const share = 0.2;
/** Capacity of the budget, which starts full. */
const reserve = 10;

/** A budget for second tries, filled by requests and drained by tries. */
export class RetryBudget {
  #tokens = reserve;

  /** Second tries left; below 1 none is allowed. */
  get left(): number {
    return this.#tokens;
  }

  /** One more request was received. */
  deposit(): void {
    this.#tokens = Math.min(reserve, this.#tokens + share);
  }

  /** Takes one second try out of the budget, if there is one. */
  withdraw(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}
