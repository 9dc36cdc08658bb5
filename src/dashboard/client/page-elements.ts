/** An element that the page is written with. @throws when it is missing, which only a fault of the page can be */
export function elementOf<Type extends Element>(id: string, type: new () => Type): Type {
  const element = document.getElementById(id);
  if (!(element instanceof type)) throw new TypeError(`the page has no ${type.name} #${id}`);
  return element;
}

/** A part of the page as the router has written it, to be put in the place of the one that is there. */
export async function fetchPart(path: string, signal: AbortSignal): Promise<Document> {
  const response = await fetch(path, { cache: 'no-store', redirect: 'error', signal });
  if (!response.ok) throw new ResponseError(response.status);
  return new DOMParser().parseFromString(await response.text(), 'text/html');
}

/** The router responded, but not with what was asked for. */
export class ResponseError extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`the router responded with ${status}`);
    this.status = status;
  }
}
