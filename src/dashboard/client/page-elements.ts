/** An element that the page is written with. @throws when it is missing, which only a bug of the page can cause */
export function elementOf<Type extends Element>(id: string, type: new () => Type): Type {
  const element = document.getElementById(id);
  if (!(element instanceof type)) throw new TypeError(`the page has no ${type.name} #${id}`);
  return element;
}

/** A part of the page as the router has written it, to be put in the place of the one that is there. */
export async function fetchPart(path: string, signal: AbortSignal): Promise<Document> {
  const response = await fetch(path, { cache: 'no-store', redirect: 'error', signal });
  const text = await response.text();
  if (!response.ok) throw new ResponseError(response.status, isStatus(response, text));
  return new DOMParser().parseFromString(text, 'text/html');
}

export class ResponseError extends Error {
  readonly status: number;
  /** The router itself, and not what stands between: `kubectl proxy` has a 500 of its own for a server that is gone. */
  readonly isRouters: boolean;
  constructor(status: number, isRouters: boolean) {
    super(`the response is ${status}`);
    this.status = status;
    this.isRouters = isRouters;
  }
}

/** What the router refuses it refuses as API servers do: with a Status (apimachinery/status.ts). */
function isStatus({ headers }: Response, text: string): boolean {
  if (headers.get('content-type')?.startsWith('application/json') !== true) return false;
  try {
    const { kind } = JSON.parse(text) as { kind?: unknown };
    return kind === 'Status';
  } catch {
    return false;
  }
}
