import { ownPathsPrefix } from '../../request/own-path-target.ts';

/** RFC 9110 section 9.1: a method is a token. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** What API servers and clients of Kubernetes send. */
const knownMethods = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'CONNECT',
  'TRACE',
]);

/** Answered by the router, whatever the API servers have under them. */
const ownDocuments = /^\/(livez|readyz|healthz)(\/|$)|^\/(metrics|metrics\/slis|statusz|flagz)$/;

/** Whether `text` can be the method of an HTTP request at all. */
export function isMethod(text: string): boolean {
  return token.test(text);
}

/** What a reader of a decision might overlook about the request itself. */
export function notesOnRequest(method: string, url: string): string[] {
  const notes: string[] = [];
  if (!knownMethods.has(method)) {
    const spelled = method.toUpperCase();
    const hint = knownMethods.has(spelled) ? `: methods are case-sensitive, ${spelled} is another one` : '';
    notes.push(`${method} is no method that Kubernetes knows${hint}`);
  }
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/)[0] ?? '';
  if (path === ownPathsPrefix || path.startsWith(`${ownPathsPrefix}/`)) {
    notes.push(`${path} is the router's own: it serves it itself, and sends it nowhere`);
  } else if (ownDocuments.test(path)) {
    notes.push(
      `the router serves ${path} about itself; metrics and z-pages unless they are turned off. A server's own is asked for at that server`,
    );
  }
  return notes;
}
