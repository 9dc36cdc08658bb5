/** Numbers counted on one way to the cluster. */
export interface Counts {
  requests: number;
  /** 404 for a resource that a server served all the while. */
  wrongNotFound: number;
  /** Objects stored with the new field … */
  fieldsStored: number;
  /** … and those of them that lost it when a label was put on them. */
  fieldsLost: number;
  /** 429, 5xx or no response, though a server could have responded all the while. */
  refused: number;
  /** Asked for what only stopped servers serve: 503 of a router, 404 of a server. */
  withoutServer: number;
}

export function noCounts(): Counts {
  return { requests: 0, wrongNotFound: 0, fieldsStored: 0, fieldsLost: 0, refused: 0, withoutServer: 0 };
}

/** Meaning of a response. */
export type Verdict = 'right' | 'wrongNotFound' | 'refused' | 'withoutServer';

/**
 * Judges the response to a request for an object that is there. Pure.
 * @param status `undefined` when there was no response
 * @param couldBeServed a server that serves the resource ran from the beginning of the request to its end
 */
export function judge(status: number | undefined, couldBeServed: boolean): Verdict {
  if (status !== undefined && status < 500 && status !== 404 && status !== 429) return 'right';
  if (!couldBeServed) return 'withoutServer';
  return status === 404 ? 'wrongNotFound' : 'refused';
}
