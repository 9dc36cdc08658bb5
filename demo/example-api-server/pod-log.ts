import type { Answer, AnswerStream } from './answer.ts';
import { badRequest, notFound } from './api-error.ts';
import { arrayAt, type KubernetesObject, textAt } from './kubernetes-object.ts';
import { isTrue } from './request-target.ts';
import type { ResourceRequest } from './resource-request.ts';

const lineIntervalMilliseconds = 500;
const linesAtOnce = 3;

/** A log that nobody wrote: it says which server answers and to whom. With `follow` it goes on until closed. */
export function podLog(request: ResourceRequest, pod: KubernetesObject): Answer {
  const { query, server, user, target } = request;
  const container = containerOf(request, pod);
  const line = (number: number): string =>
    `line ${number} of ${target.namespace}/${target.name}/${container} from ${server.name} to ${user.name}\n`;
  const tail = Number(query.get('tailLines') ?? linesAtOnce);
  if (!Number.isSafeInteger(tail) || tail < 0) throw badRequest('tailLines is no count');
  const first = Math.max(1, linesAtOnce - tail + 1);
  const numbers = Array.from({ length: linesAtOnce - first + 1 }, (_, index) => first + index);
  const headers = { 'content-type': 'text/plain' };
  const text = numbers.map(line).join('');
  if (!isTrue(query.get('follow'))) return { kind: 'whole', code: 200, headers, body: text };
  return {
    kind: 'stream',
    code: 200,
    headers,
    start: (stream) => follow(stream, text, line, server.stopping),
  };
}

function follow(
  stream: AnswerStream,
  beginning: string,
  line: (number: number) => string,
  stopping: AbortSignal,
): void {
  let number = linesAtOnce;
  stream.write(beginning);
  const end = (): void => stream.end();
  const timer = setInterval(() => {
    number += 1;
    stream.write(line(number));
  }, lineIntervalMilliseconds);
  stopping.addEventListener('abort', end);
  stream.onClose(() => {
    clearInterval(timer);
    stopping.removeEventListener('abort', end);
  });
}

/** The container asked for, or the only one there is. @throws {ApiError} BadRequest */
export function containerOf({ query, target, served }: ResourceRequest, pod: KubernetesObject): string {
  const namesOf = (field: string): string[] =>
    arrayAt(pod, 'spec', field).map((container) => textAt(container, 'name'));
  const names = namesOf('containers');
  const asked = query.get('container');
  if (asked !== null) {
    if (names.includes(asked) || namesOf('ephemeralContainers').includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${target.name}`);
  }
  const [only, ...others] = names;
  if (only === undefined) throw notFound(served, target.name);
  if (others.length === 0) return only;
  throw badRequest(
    `a container name must be specified for pod ${target.name}, choose one of: [${names.join(' ')}]`,
  );
}
